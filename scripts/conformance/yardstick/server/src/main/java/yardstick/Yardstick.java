package yardstick;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.cloud.netflix.eureka.server.EnableEurekaServer;

/** The Java server alone; its settings are in application.yml, its port comes from the command line. */
@SpringBootApplication
@EnableEurekaServer
public class Yardstick {
    public static void main(String[] arguments) {
        SpringApplication.run(Yardstick.class, arguments);
    }
}
