import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Properties;
import net.minestom.server.MinecraftServer;
import net.minestom.server.coordinate.Pos;
import net.minestom.server.event.player.AsyncPlayerConfigurationEvent;
import net.minestom.server.instance.InstanceContainer;
import net.minestom.server.instance.LightingChunk;
import net.minestom.server.instance.block.Block;

/** A flat world on Minestom (https://minestom.net), a real game server that has its jars on the class path. */
public final class MinestomGame {
  public static void main(String[] args) throws Exception {
    long begun = System.nanoTime();
    Properties properties = new Properties();
    try (Reader reader = Files.newBufferedReader(Path.of("server.properties"))) {
      properties.load(reader);
    }
    int port = Integer.parseInt(properties.getProperty("server-port"));
    MinecraftServer server = MinecraftServer.init();
    InstanceContainer world = MinecraftServer.getInstanceManager().createInstanceContainer();
    world.setGenerator(unit -> unit.modifier().fillHeight(0, 40, Block.GRASS_BLOCK));
    world.setChunkSupplier(LightingChunk::new);
    MinecraftServer.getGlobalEventHandler().addListener(AsyncPlayerConfigurationEvent.class, event -> {
      event.setSpawningInstance(world);
      event.getPlayer().setRespawnPoint(new Pos(0, 42, 0));
    });
    server.start("127.0.0.1", port);
    double seconds = (System.nanoTime() - begun) / 1e9;
    System.out.printf(Locale.ROOT, "[main/INFO]: Done (%.3fs)! For help, type \"help\"%n", seconds);
  }
}
