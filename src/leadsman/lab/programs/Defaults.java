import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;

/**
 * Prints what each setting is unless it is set: "program name default", separated by tabs; without a third column
 * there is no default. Arguments: pairs of program and class, such as "consumer=org.apache.kafka...ConsumerConfig".
 *
 * A class holds its definitions as a static field or method; before 4.0 the broker's is Scala's companion object.
 */
public final class Defaults {
    private static final String[] NAMES = {"configDef", "CONFIG_DEF", "CONFIG", "kafka$server$KafkaConfig$$configDef"};

    public static void main(String[] words) throws Exception {
        for (String word : words) {
            String[] pair = word.split("=", 2);
            ConfigDef settings = definitions(Class.forName(pair[1]));
            for (Map.Entry<String, ConfigDef.ConfigKey> each : new TreeMap<>(settings.configKeys()).entrySet()) {
                System.out.println(pair[0] + "\t" + each.getKey() + value(each.getValue()));
            }
        }
    }

    private static String value(ConfigDef.ConfigKey key) {
        if (!key.hasDefault() || key.defaultValue == null) {
            return "";
        }
        return "\t" + ConfigDef.convertToString(key.defaultValue, key.type).replaceAll("\\s+", " ");
    }

    private static ConfigDef definitions(Class<?> named) throws Exception {
        for (String name : NAMES) {
            Object found = of(named, name);
            if (found instanceof ConfigDef) {
                return (ConfigDef) found;
            }
        }
        throw new IllegalStateException(named + " holds no definitions that are known here");
    }

    private static Object of(Class<?> named, String name) throws Exception {
        Object companion = field(named, "MODULE$", null);
        Object found = field(named, name, companion);
        for (Method method : named.getDeclaredMethods()) {
            if (found == null && method.getName().equals(name) && method.getParameterCount() == 0) {
                method.setAccessible(true);
                found = method.invoke(companion);
            }
        }
        return found;
    }

    private static Object field(Class<?> named, String name, Object of) throws Exception {
        for (Field field : named.getDeclaredFields()) {
            if (field.getName().equals(name)) {
                field.setAccessible(true);
                return field.get(of);
            }
        }
        return null;
    }
}
