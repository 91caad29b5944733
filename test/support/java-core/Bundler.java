import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A stand-in for Mojang's bundler and for Paperclip. It unpacks the jars of its lists below the working directory and runs the
 * main class through a class loader of its own. A jar that it contains reversed, as a patch, is put right first.
 */
public final class Bundler {
  public static void main(String[] args) throws Exception {
    List<URL> urls = new ArrayList<>();
    for (String kind : new String[] {"versions", "libraries"}) unpack(kind, urls);
    if (Boolean.getBoolean("paperclip.patchonly")) return;
    String mainClass = text("META-INF/main-class").trim();
    URLClassLoader loader = new URLClassLoader(urls.toArray(new URL[0]), Bundler.class.getClassLoader().getParent());
    Thread thread = new Thread(() -> run(loader, mainClass, args), "ServerMain");
    thread.setContextClassLoader(loader);
    thread.start();
  }

  private static void run(ClassLoader loader, String mainClass, String[] args) {
    try {
      Class<?> type = Class.forName(mainClass, true, loader);
      MethodHandles.lookup()
          .findStatic(type, "main", MethodType.methodType(void.class, String[].class))
          .asFixedArity()
          .invoke((Object) args);
    } catch (Throwable error) {
      throw new IllegalStateException(error);
    }
  }

  private static void unpack(String kind, List<URL> urls) throws IOException {
    for (String line : text("META-INF/" + kind + ".list").split("\n")) {
      String[] parts = line.split("\t");
      if (parts.length != 3) continue;
      String path = kind + "/" + parts[2];
      Path target = Path.of(path);
      if (!Files.exists(target)) {
        Files.createDirectories(target.getParent());
        Files.write(target, content(path));
      }
      urls.add(target.toUri().toURL());
    }
  }

  private static byte[] content(String path) throws IOException {
    try (InputStream whole = Bundler.class.getResourceAsStream("/META-INF/" + path)) {
      if (whole != null) return whole.readAllBytes();
    }
    try (InputStream patch = Bundler.class.getResourceAsStream("/META-INF/" + path + ".patch")) {
      byte[] bytes = patch.readAllBytes();
      for (int left = 0, right = bytes.length - 1; left < right; left++, right--) {
        byte kept = bytes[left];
        bytes[left] = bytes[right];
        bytes[right] = kept;
      }
      return bytes;
    }
  }

  private static String text(String name) throws IOException {
    try (InputStream stream = Bundler.class.getResourceAsStream("/" + name)) {
      return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
