import java.io.IOException;
import java.io.Reader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.ServerSocket;
import java.net.http.HttpClient;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A game that speaks no protocol: it loads several hundred classes of Java, listens on its port, and reports that it is ready.
 * Where it has come from is in its output, so that tests see how it was started.
 */
public final class Game {
  public static void main(String[] args) throws Exception {
    long begun = System.nanoTime();
    Properties properties = new Properties();
    try (Reader reader = Files.newBufferedReader(Path.of("server.properties"))) {
      properties.load(reader);
    }
    ConcurrentHashMap<String, String> found = new ConcurrentHashMap<>();
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int n = 0; n < 200; n++) {
        int index = n;
        pool.submit(() -> found.put("key" + index, String.format(Locale.ROOT, "%05d %s", index, ZonedDateTime.now().format(DateTimeFormatter.ISO_INSTANT))));
      }
    }
    HttpClient.newHttpClient().close();
    String text = IntStream.range(0, 200).boxed().collect(Collectors.groupingBy(n -> n % 7)).toString();
    System.out.println("[main/INFO]: loader " + Game.class.getClassLoader().getClass().getSimpleName() + ", " + (text.length() + found.size()));
    if (Files.exists(Path.of("fail"))) System.exit(3);
    InetAddress address = InetAddress.getByName(properties.getProperty("server-ip", "127.0.0.1"));
    ServerSocket server = new ServerSocket();
    server.bind(new InetSocketAddress(address, Integer.parseInt(properties.getProperty("server-port"))));
    double seconds = (System.nanoTime() - begun) / 1e9;
    System.out.printf(Locale.ROOT, "[main/INFO]: Done (%.3fs)! For help, type \"help\"%n", seconds);
    while (true) {
      try (Socket socket = server.accept()) {
        socket.getOutputStream().write(0);
      } catch (IOException ignored) {
        // The caller has gone.
      }
    }
  }
}
