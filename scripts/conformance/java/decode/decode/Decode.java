package decode;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.netflix.appinfo.AmazonInfo;
import com.netflix.appinfo.InstanceInfo;
import com.netflix.appinfo.InstanceInfo.PortType;
import com.netflix.discovery.converters.wrappers.CodecWrapper;
import com.netflix.discovery.converters.wrappers.CodecWrappers;
import com.netflix.discovery.converters.wrappers.DecoderWrapper;
import com.netflix.discovery.shared.Application;
import com.netflix.discovery.shared.Applications;
import java.io.ByteArrayInputStream;
import java.io.PrintStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** The registry of oddities as Netflix's decoders read it, one after another, for ../arrival.py. The argument is the version. */
public class Decode {
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final String URL = System.getenv("EUREKA_URL");

    /** Every decoder there is, and the views it is for.. */
    private enum Decoder {
        JACKSON_JSON(CodecWrappers.JacksonJson.class, "json", "full", "compact", "delta", "application"),
        JACKSON_JSON_MINI(CodecWrappers.JacksonJsonMini.class, "json", "compact"),
        JACKSON_JSON_LEGACY(CodecWrappers.LegacyJacksonJson.class, "json", "full", "compact", "delta", "application"),
        XSTREAM_JSON(CodecWrappers.XStreamJson.class, "json", "full", "compact", "delta", "application"),
        JACKSON_XML(CodecWrappers.JacksonXml.class, "xml", "full", "compact", "delta", "application"),
        JACKSON_XML_MINI(CodecWrappers.JacksonXmlMini.class, "xml", "compact"),
        XSTREAM_XML(CodecWrappers.XStreamXml.class, "xml", "full", "compact", "delta", "application");

        private final Class<? extends CodecWrapper> kind;
        private final String format;
        private final String[] views;

        Decoder(Class<? extends CodecWrapper> kind, String format, String... views) {
            this.kind = kind;
            this.format = format;
            this.views = views;
        }

        DecoderWrapper make() {
            return CodecWrappers.getDecoder(kind);
        }
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        ObjectMapper json = new ObjectMapper();
        for (Decoder decoder : Decoder.values()) {
            TreeSet<String> names = new TreeSet<>();
            for (String view : decoder.views) {
                Map<String, Object> dump = new LinkedHashMap<>();
                dump.put("client", "Java " + decoder.kind.getSimpleName());
                dump.put("version", arguments[0]);
                dump.put("format", decoder.format);
                dump.put("view", view);
                try {
                    List<Map<String, Object>> records = records(decoder, view, names);
                    dump.put("records", records);
                    records.forEach(each -> names.add((String) each.get("app")));
                } catch (Exception | LinkageError thrown) {
                    dump.put("error", thrown.toString());
                }
                // Other characters could not stand for what is no character.
                out.println(json.writer().with(JsonGenerator.Feature.ESCAPE_NON_ASCII).writeValueAsString(dump));
            }
        }
    }

    private static List<Map<String, Object>> records(Decoder decoder, String view, TreeSet<String> names) throws Exception {
        List<Map<String, Object>> records = new ArrayList<>();
        if (view.equals("application")) {
            for (String name : names) {
                add(records, decoder.make().decode(fetch("/apps/" + URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20"), decoder.format, false), Application.class));
            }
            return records;
        }
        String path = view.equals("delta") ? "/apps/delta" : "/apps/";
        Applications applications = decoder.make().decode(fetch(path, decoder.format, view.equals("compact")), Applications.class);
        applications.getRegisteredApplications().forEach(application -> add(records, application));
        if (!view.equals("delta") && !applications.getAppsHashCode().equals(applications.getReconcileHashCode())) {
            throw new IllegalStateException(applications.getAppsHashCode() + " is not the hash code of its own content, " + applications.getReconcileHashCode());
        }
        return records;
    }

    private static ByteArrayInputStream fetch(String path, String format, boolean compact) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(URL + path)).header("Accept", "application/" + format);
        if (compact) {
            request.header("X-Eureka-Accept", "compact");
        }
        HttpResponse<byte[]> answer = HTTP.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
        if (answer.statusCode() != 200) {
            throw new IllegalStateException(path + ": " + answer.statusCode());
        }
        return new ByteArrayInputStream(answer.body());
    }

    private static void add(List<Map<String, Object>> records, Application application) {
        for (InstanceInfo instance : application.getInstancesAsIsFromEureka()) {
            Map<String, Object> record = new LinkedHashMap<>();
            record.put("app", instance.getAppName());
            record.put("instanceId", instance.getInstanceId());
            record.put("hostName", instance.getHostName());
            record.put("ipAddr", instance.getIPAddr());
            record.put("status", instance.getStatus().name());
            record.put("port", instance.getPort());
            record.put("portEnabled", instance.isPortEnabled(PortType.UNSECURE));
            record.put("securePort", instance.getSecurePort());
            record.put("securePortEnabled", instance.isPortEnabled(PortType.SECURE));
            record.put("vipAddress", instance.getVIPAddress());
            record.put("secureVipAddress", instance.getSecureVipAddress());
            record.put("homePageUrl", instance.getHomePageUrl());
            record.put("dataCenter", instance.getDataCenterInfo().getName().name());
            record.put("dataCenterMetadata", instance.getDataCenterInfo() instanceof AmazonInfo amazon ? amazon.getMetadata() : Map.of());
            record.put("metadata", instance.getMetadata());
            records.add(record);
        }
    }
}
