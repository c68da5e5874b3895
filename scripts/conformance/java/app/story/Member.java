package story;

import com.netflix.appinfo.ApplicationInfoManager;
import com.netflix.discovery.EurekaClient;
import com.netflix.discovery.shared.Application;
import com.netflix.discovery.shared.transport.jersey.TransportClientFactories;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.cloud.client.ServiceInstance;
import org.springframework.cloud.client.discovery.DiscoveryClient;
import org.springframework.cloud.client.loadbalancer.LoadBalanced;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestTemplate;

/** An application that does what ../../story.py asks it to, as an application does it. Settings come as arguments. */
@SpringBootApplication
public class Member {
    public static void main(String[] arguments) {
        SpringApplication.run(Member.class, arguments);
    }

    @Configuration(proxyBeanMethods = false)
    static class Balanced {
        @Bean
        @LoadBalanced
        RestTemplate balanced() {
            return new RestTemplate();
        }
    }

    @RestController
    static class Requests {
        private final DiscoveryClient discovery;
        private final EurekaClient eureka;
        private final ApplicationInfoManager self;
        private final RestTemplate balanced;
        private final TransportClientFactories<?> transport;
        private final String name;

        Requests(DiscoveryClient discovery, EurekaClient eureka, ApplicationInfoManager self, RestTemplate balanced,
                TransportClientFactories<?> transport, @Value("${eureka.instance.instance-id}") String name) {
            this.discovery = discovery;
            this.eureka = eureka;
            this.self = self;
            this.balanced = balanced;
            this.transport = transport;
            this.name = name;
        }

        @GetMapping("/name")
        String name() {
            return name;
        }

        /** What DiscoveryClient finds: id to address and metadata. */
        @GetMapping("/found")
        Map<String, Map<String, Object>> found(@RequestParam("of") String application) {
            Map<String, Map<String, Object>> found = new TreeMap<>();
            for (ServiceInstance instance : discovery.getInstances(application)) {
                found.put(instance.getInstanceId(), Map.of("uri", instance.getUri().toString(), "metadata", instance.getMetadata()));
            }
            return found;
        }

        /** The statuses in this client's copy of the registry, unfiltered. */
        @GetMapping("/statuses")
        Map<String, String> statuses(@RequestParam("of") String application) {
            Application known = eureka.getApplication(application);
            Map<String, String> statuses = new TreeMap<>();
            if (known != null) {
                known.getInstancesAsIsFromEureka().forEach(instance -> statuses.put(instance.getId(), instance.getStatus().name()));
            }
            return statuses;
        }

        /** Who answers that many calls through the load balancer, and how often. */
        @GetMapping("/calls")
        Map<String, Integer> calls(@RequestParam("to") String application, @RequestParam("times") int times) {
            Map<String, Integer> answers = new TreeMap<>();
            for (int call = 0; call < times; call++) {
                answers.merge(balanced.getForObject("http://" + application + "/name", String.class), 1, Integer::sum);
            }
            return answers;
        }

        @PostMapping("/metadata")
        void metadata(@RequestParam("key") String key, @RequestParam("value") String value) {
            self.registerAppMetadata(new HashMap<>(Map.of(key, value)));
        }

        /** Which class talks to the registry: the proof that a story is about the transport that it says. */
        @GetMapping("/transport")
        String transport() {
            return transport.getClass().getSimpleName();
        }
    }
}
