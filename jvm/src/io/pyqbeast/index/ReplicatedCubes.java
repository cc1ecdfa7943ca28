package io.pyqbeast.index;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pyqbeast.errors.Refusal;
import io.pyqbeast.format.Constants;
import io.pyqbeast.format.FileTags;
import io.pyqbeast.format.Json;
import io.pyqbeast.format.StoredFormat;
import io.pyqbeast.format.StoredRevision;
import io.pyqbeast.format.StoredRows;
import io.pyqbeast.spark.ScalaInterop;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.Metadata;

/**
 * Which files of a snapshot hold rows that other files hold too. Releases before format 0.6 copied the rows of a full
 * cube to the cubes below it and marked its blocks as replicated. A mark alone is not believed: a damaged or foreign one
 * would hide rows that are nowhere else.
 *
 * <p>Every copied row keeps its weight. So below a cube that was copied there is a block that begins exactly with its
 * lightest row, and the blocks that may hold copies count at least as many rows. Where nothing was copied, a cube keeps
 * the lightest rows to itself and every block below begins with a heavier one.
 *
 * <p>A program that knows nothing of cubes may have rewritten the copies, and tags may be damaged. Nobody can tell from the
 * log then whether it is the copies that the files hold whose rows no block tells of, or none of a revision that is there.
 */
public final class ReplicatedCubes implements Serializable {
  private static final long serialVersionUID = 1L;

  /** For a table in which no block is marked. */
  static final ReplicatedCubes NONE = new ReplicatedCubes(Set.of(), false);

  private record Name(long revision, String cube) implements Serializable {}

  /** The marked blocks of one cube, and what is seen of their rows below it. */
  private static final class Marked {
    private final Set<Integer> starts = new HashSet<>();
    private final List<FileTags.Block> blocks = new ArrayList<>();
    private int maxWeight = Constants.WEIGHT_MIN;
    private double rows;
    private boolean isLightestSeen;
    private double seen;

    /** Adds a block of a file, which holds no more rows than the file, and all of them if it is the only one. */
    void add(FileTags.Block block, Long ofFile, boolean isOnly) {
      blocks.add(block);
      starts.add(block.minWeight());
      maxWeight = Math.max(maxWeight, block.maxWeight());
      if (ofFile == null) {
        rows += block.rows();
      } else {
        rows += isOnly ? ofFile : Math.min(block.rows(), ofFile);
      }
    }

    void see(FileTags.Block below) {
      isLightestSeen |= starts.contains(below.minWeight());
      seen += below.minWeight() <= maxWeight ? below.rows() : 0;
    }
  }

  /** What the blocks of a table's files show about its marked cubes, before the marks are judged. */
  private static final class Evidence {
    private final Map<Name, Marked> marked = new HashMap<>();
    private final Map<Name, String> paths = new HashMap<>();
    private final Set<Integer> lengths = new HashSet<>();

    /** Rows of revisions that the table does not have. A file whose number is damaged may hold copies of any other. */
    private final Map<Long, Double> ofLost = new HashMap<>();

    /** Rows that no block tells of. */
    private double untold;

    /** A file whose damaged tags do not tell whether it was marked; null where there is none. */
    private String hidesMark;

    void mark(long revision, FileTags.Block block, AddFile file, boolean isOnly) {
      Name name = new Name(revision, block.cube());
      marked.computeIfAbsent(name, each -> new Marked()).add(block, StoredRows.of(file), isOnly);
      paths.put(name, file.path());
      lengths.add(block.cube().length());
    }

    /** Shows the rows of a file to the marked cubes that they may be copied from. */
    void lookAt(AddFile file, Set<Long> revisions) {
      Map<String, String> tags = ScalaInterop.map(file.tagsOrEmpty());
      Long revision = FileTags.revision(tags);
      List<FileTags.Block> blocks = FileTags.blocks(tags);
      if (!FileTags.tellBlocks(tags, blocks) && FileTags.saidMark(tags) == FileTags.Mark.UNKNOWN) {
        hidesMark = file.path();
      }
      double told = blocks.stream().mapToDouble(FileTags.Block::rows).sum();
      Long rows = StoredRows.of(file);
      if (rows != null) {
        untold += Math.max(0, rows - told);
      } else if (told == 0) {
        untold = Double.POSITIVE_INFINITY;
      }
      if (revision != null && !revisions.contains(revision)) {
        ofLost.merge(revision, told, Double::sum);
      }
      for (FileTags.Block block : blocks) {
        if (!block.replicated()) {
          show(revision, block);
        }
      }
    }

    /** Shows a block to the marked cubes above it, unless the block has no rows. */
    void show(long revision, FileTags.Block block) {
      if (block.rows() == 0) {
        return;
      }
      for (int length : lengths) {
        if (length < block.cube().length()) {
          Marked above = marked.get(new Name(revision, block.cube().substring(0, length)));
          if (above != null) {
            above.see(block);
          }
        }
      }
    }

    /**
     * Judges the marked cubes from the deepest up, because a block whose mark turned out to be false may hold the
     * copies of a cube above it.
     */
    ReplicatedCubes judged() {
      Set<Name> copied = new HashSet<>();
      List<Name> deepestFirst = new ArrayList<>(marked.keySet());
      deepestFirst.sort(Comparator.comparingInt((Name name) -> name.cube().length()).reversed());
      for (Name name : deepestFirst) {
        Marked cube = marked.get(name);
        double elsewhere = untold;
        for (Map.Entry<Long, Double> lost : ofLost.entrySet()) {
          elsewhere += lost.getKey() == name.revision() ? 0 : lost.getValue();
        }
        boolean isEnough = cube.seen + elsewhere >= cube.rows;
        // A block without rows closes a gap, and begins like a block below it.
        if (cube.rows > 0 && cube.isLightestSeen && isEnough) {
          copied.add(name);
        } else if (elsewhere > 0 && isEnough) {
          throw new Refusal(
              "file " + paths.get(name) + " is marked as replicated: its rows would be in other files too. No block holds"
                  + " them, and files without an index or with damaged tags may, so nobody can tell. RESTORE a version in"
                  + " which all files have an index, and run pyqbeast upgrade --drop-replicated before other writers"
                  + " change it");
        } else {
          cube.blocks.forEach(block -> show(name.revision(), block));
        }
      }
      if (hidesMark != null && !copied.isEmpty()) {
        throw unreadable(hidesMark);
      }
      return new ReplicatedCubes(copied, copied.size() < marked.size());
    }
  }

  private final Set<Name> copied;
  private final boolean isAnyFalse;

  private ReplicatedCubes(Set<Name> copied, boolean isAnyFalse) {
    this.copied = copied;
    this.isAnyFalse = isAnyFalse;
  }

  /**
   * The replicated cubes of a snapshot. If a block is marked, this needs the {@link BlockIndex}, which costs one
   * Spark job a version.
   */
  public static ReplicatedCubes of(Snapshot snapshot) {
    return StoredFormat.of(snapshot).isMarked() ? BlockIndex.of(snapshot).replicatedCubes() : NONE;
  }

  /**
   * The replicated cubes of a table of these files.
   *
   * @throws Refusal where a file is marked and rows that no block tells of may be its own, and where damaged tags may have
   *     marked a file
   */
  public static ReplicatedCubes among(Iterable<AddFile> files, Metadata table) {
    Evidence evidence = new Evidence();
    for (AddFile file : files) {
      Map<String, String> tags = ScalaInterop.map(file.tagsOrEmpty());
      if (FileTags.isMarked(tags)) {
        List<FileTags.Block> blocks = FileTags.blocks(tags);
        if (!FileTags.tellBlocks(tags, blocks)) {
          throw unreadable(file.path());
        }
        blocks.stream()
            .filter(FileTags.Block::replicated)
            .forEach(block -> evidence.mark(FileTags.revision(tags), block, file, blocks.size() == 1));
      }
    }
    if (evidence.marked.isEmpty()) {
      return NONE;
    }
    Set<Long> revisions = StoredRevision.numbers(ScalaInterop.map(table.configuration()));
    files.forEach(file -> evidence.lookAt(file, revisions));
    return evidence.judged();
  }

  private static Refusal unreadable(String path) {
    return new Refusal(
        "the index tags of file " + path + " are damaged: its rows may be in other files too, and nobody can tell. RESTORE"
            + " a version in which its tags can be read, and run pyqbeast upgrade --drop-replicated on it");
  }

  /** Whether a file of these tags holds a block whose rows other files hold too. */
  public boolean holdsCopies(Map<String, String> tags) {
    return !copied.isEmpty()
        && FileTags.isMarked(tags)
        && FileTags.blocks(tags).stream().anyMatch(block -> isCopied(FileTags.revision(tags), block));
  }

  /** Whether other files hold the rows of all blocks of a file with these tags. */
  public boolean holdsOnlyCopies(Map<String, String> tags) {
    return holdsCopies(tags)
        && FileTags.blocks(tags).stream().allMatch(block -> isCopied(FileTags.revision(tags), block));
  }

  public boolean isEmpty() {
    return copied.isEmpty();
  }

  /** Whether a file is marked, and none of its rows is seen in another file. */
  public boolean isFalselyMarked(Map<String, String> tags) {
    return isAnyFalse && FileTags.isMarked(tags) && !holdsCopies(tags);
  }

  /** The tags of a file without the marks of blocks whose rows are not seen in other files. */
  public Map<String, String> truthOf(Map<String, String> tags) {
    if (!isAnyFalse || !FileTags.isMarked(tags) || holdsOnlyCopies(tags)) {
      return tags;
    }
    Map<String, String> truth = new HashMap<>(tags);
    truth.computeIfPresent(Constants.LEGACY_TAG_STATE, (tag, state) -> Constants.STATE_FLOODED);
    truth.computeIfPresent(Constants.TAG_BLOCKS, (tag, text) -> judged(text, tags));
    return truth;
  }

  private String judged(String text, Map<String, String> tags) {
    JsonNode stored = Json.read(text);
    List<FileTags.Block> blocks = FileTags.blocks(tags);
    for (int i = 0; i < blocks.size(); i++) {
      ((ObjectNode) stored.get(i)).put(Constants.BLOCK_REPLICATED, isCopied(FileTags.revision(tags), blocks.get(i)));
    }
    return stored.toString();
  }

  private boolean isCopied(long revision, FileTags.Block block) {
    return block.replicated() && copied.contains(new Name(revision, block.cube()));
  }
}
