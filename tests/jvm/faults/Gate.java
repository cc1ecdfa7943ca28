package faults;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * Holds a writer before each commit that it tries, until it is told what becomes of that commit. Writer and director meet
 * in a folder, so they may be processes: the writer leaves {@code NAME.N.at} there and waits for {@code NAME.N.go}.
 */
public final class Gate {
  /** What becomes of a commit. */
  enum Order {
    /** What the log store makes of it. */
    GO,
    /** Nothing is written, and the call fails. */
    FAIL,
    /** It is written, and the call fails. */
    LAND_AND_FAIL,
    /** It is written, and the call says that the file was there before. */
    LAND_AND_COME_SECOND,
    /** The writer is dead from now on: no call of its does anything. */
    DIE
  }

  /** The gate of the thread's writer; none for a thread that is no writer. */
  private static final ThreadLocal<Gate> OWN = new ThreadLocal<>();

  private final Path folder;
  private final String name;
  private int passed;
  private boolean dead;
  private boolean blind;

  private Gate(Path folder, String name) {
    this.folder = folder;
    this.name = name;
  }

  /** From now on the thread is the writer of a name. */
  public static void enter(String folder, String name) {
    OWN.set(new Gate(Path.of(folder), name));
  }

  /** The thread is no writer any more. */
  public static void leave() {
    OWN.remove();
  }

  /** Waits for the next order; {@link Order#GO} for a thread that is no writer. */
  static Order arrive() {
    Gate gate = OWN.get();
    if (gate == null) {
      return Order.GO;
    }
    try {
      return gate.ordered();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private Order ordered() throws IOException, InterruptedException {
    String turn = name + "." + passed++;
    Path there = Files.writeString(folder.resolve(turn + ".tmp"), "");
    Files.move(there, folder.resolve(turn + ".at"), StandardCopyOption.ATOMIC_MOVE);
    Path go = folder.resolve(turn + ".go");
    while (!Files.exists(go)) {
      Thread.sleep(5);
    }
    String[] words = Files.readString(go, StandardCharsets.UTF_8).split(" ");
    blind = words.length > 1;
    Order order = Order.valueOf(words[0]);
    dead = order == Order.DIE;
    return order;
  }

  /** Fails for a writer that is dead. */
  static void live() throws IOException {
    if (OWN.get() != null && OWN.get().dead) {
      throw new IOException("this writer is dead");
    }
  }

  /** Fails for a writer that shall not find out what became of its commit, and for a dead one. */
  static void look() throws IOException {
    live();
    if (OWN.get() != null && OWN.get().blind) {
      throw new IOException("the log cannot be read");
    }
  }
}
