package story;

import com.netflix.discovery.Jersey3DiscoveryClientOptionalArgs;
import com.netflix.discovery.shared.transport.jersey.TransportClientFactories;
import com.netflix.discovery.shared.transport.jersey3.Jersey3TransportClientFactories;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Netflix's own transport, where it is on the class path: Spring Cloud leaves it to the application to say so. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass(name = "com.netflix.discovery.shared.transport.jersey3.Jersey3TransportClientFactories")
@ConditionalOnProperty(name = "eureka.client.jersey.enabled", matchIfMissing = true)
class Jersey {
    @Bean
    TransportClientFactories<?> transport() {
        return Jersey3TransportClientFactories.getInstance();
    }

    @Bean
    Jersey3DiscoveryClientOptionalArgs optionalArguments() {
        return new Jersey3DiscoveryClientOptionalArgs();
    }
}
