import java.util.HashMap;
import java.util.Map;

/** Holds so many entries by number, as a broker does, says so, and waits until its input ends. */
public class Holding {
    static class Entry {
        final long id;
        final short epoch = 0;

        Entry(long id) {
            this.id = id;
        }
    }

    final Map<Long, Entry> entries = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        Holding holding = new Holding();
        for (long id = 0; id < Long.parseLong(arguments[0]); id++) holding.entries.put(id * 1_000_003, new Entry(id));
        System.out.println("holding");
        System.in.read();
        System.out.println(holding.entries.size());
    }
}
