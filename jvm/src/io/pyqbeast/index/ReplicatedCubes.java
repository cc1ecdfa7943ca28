package io.pyqbeast.index;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pyqbeast.errors.Refusal;
import io.pyqbeast.format.Constants;
import io.pyqbeast.format.FileTags;
import io.pyqbeast.format.Json;
import io.pyqbeast.format.StoredIndex;
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
import java.util.TreeSet;
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
 * the lightest rows to itself and a block below begins with a heavier one. Only the very rows of a cube that are written once
 * more, when it is full, look like copies: a false mark is believed there.
 *
 * <p>A program that knows nothing of cubes may have rewritten the copies, and tags may be damaged. Nobody can tell from the
 * log then whether it is the copies that the files hold whose rows no block tells of, or none of a revision that is there.
 * Deletion vectors leave blocks as they were, but a file whose rows are all deleted leaves the log, be it the one that
 * showed where a lightest row was copied to. An update hides the copies of a row, and writes each anew into a file without
 * an index.
 */
public final class ReplicatedCubes implements Serializable {
  private static final long serialVersionUID = 1L;

  /** For a table in which no block is marked. */
  static final ReplicatedCubes NONE = new ReplicatedCubes(Set.of(), false);

  private record Name(long revision, String cube) implements Serializable, Comparable<Name> {
    @Override
    public int compareTo(Name other) {
      return revision == other.revision ? cube.compareTo(other.cube) : Long.compare(revision, other.revision);
    }
  }

  /** The marked blocks of one cube, and what is seen of their rows below it. */
  private static final class Marked {
    private final Set<Integer> starts = new HashSet<>();
    private final List<FileTags.Block> blocks = new ArrayList<>();
    private int largest = Constants.WEIGHT_MIN;
    private double rows;
    private double live;
    private boolean isLightestSeen;
    private double seen;

    /** Adds a block of a file, which holds no more rows than the file, and all of them if it is the only one. */
    void add(FileTags.Block block, AddFile file, boolean isOnly) {
      blocks.add(block);
      starts.add(block.minWeight());
      // Versions 0.3 to 0.5 of the Scala project joined blocks of a cube, whose rows may be heavier than it says.
      boolean isBounded = !isOnly || file.tagsOrEmpty().contains(Constants.TAG_MAX_ROW_WEIGHT);
      largest = Math.max(largest, isBounded ? block.maxWeight() : Constants.WEIGHT_MAX);
      Long ofFile = StoredRows.of(file);
      double held = block.rows();
      if (ofFile != null) {
        held = isOnly ? ofFile : Math.min(held, ofFile);
      }
      rows += held;
      live += Math.max(0, held - deleted(file));
    }

    /**
     * Whether enough rows may be copies for each of its live rows to have one. Its deleted rows need none, because a copy
     * of a deleted row is deleted too. A cube without rows was not copied: its block closes a gap in the tree, and begins
     * with the weight of a block below it though it has no row there.
     *
     * @param elsewhere rows beside those that were seen below it, of which nobody knows what cube they are of
     */
    boolean mayBeCopied(double elsewhere) {
      return rows > 0 && seen + elsewhere >= Math.max(1, live);
    }

    void see(FileTags.Block below) {
      isLightestSeen |= starts.contains(below.minWeight());
      seen += below.minWeight() <= largest ? below.rows() : 0;
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

    /** A file that has such rows. */
    private String untoldPath;

    private boolean areAnyDeleted;

    /** A file whose damaged tags do not tell whether it was marked; null where there is none. */
    private String hidesMark;

    void mark(long revision, FileTags.Block block, AddFile file, boolean isOnly) {
      Name name = new Name(revision, block.cube());
      marked.computeIfAbsent(name, each -> new Marked()).add(block, file, isOnly);
      paths.put(name, file.path());
      lengths.add(block.cube().length());
    }

    /** Shows the rows of a file to the marked cubes that they may be copied from. */
    void lookAt(AddFile file, Set<Long> revisions) {
      Map<String, String> tags = ScalaInterop.map(file.tagsOrEmpty());
      Long revision = FileTags.revision(tags);
      List<FileTags.Block> blocks = FileTags.blocks(tags);
      if (!FileTags.areBlocksTold(tags, blocks) && FileTags.markOf(tags) == FileTags.Mark.UNKNOWN) {
        hidesMark = file.path();
      }
      areAnyDeleted |= deleted(file) > 0;
      double told = blocks.stream().mapToDouble(FileTags.Block::rows).sum();
      Long rows = StoredRows.of(file);
      double more = told == 0 ? Double.POSITIVE_INFINITY : 0;
      if (rows != null) {
        more = Math.max(0, rows - told);
      }
      untold += more;
      untoldPath = more > 0 ? file.path() : untoldPath;
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
    ReplicatedCubes judged(Set<Name> listed) {
      Set<Name> copied = new HashSet<>();
      List<Name> deepestFirst = new ArrayList<>(marked.keySet());
      deepestFirst.sort(Comparator.comparingInt((Name name) -> name.cube().length()).reversed());
      for (Name name : deepestFirst) {
        Marked cube = marked.get(name);
        double elsewhere = untold;
        for (Map.Entry<Long, Double> lost : ofLost.entrySet()) {
          elsewhere += lost.getKey() == name.revision() ? 0 : lost.getValue();
        }
        boolean mayBeCopied = cube.mayBeCopied(elsewhere);
        boolean isUntold = elsewhere > 0;
        boolean isUnsure = cube.isLightestSeen ? isUntold && areAnyDeleted : isUntold || areAnyDeleted;
        if (mayBeCopied && isUnsure) {
          throw new Refusal(
              "file " + paths.get(name) + " is marked as replicated: its rows would be in other files too. Files without an"
                  + " index or with damaged tags may hold them, or those that showed it are deleted, so nobody can tell."
                  + " RESTORE a version in which all files have an index and no row is deleted, and run pyqbeast upgrade"
                  + " --drop-replicated before other writers change it");
        }
        if (mayBeCopied && cube.isLightestSeen) {
          copied.add(name);
        } else {
          cube.blocks.forEach(block -> show(name.revision(), block));
        }
      }
      if (hidesMark != null && !copied.isEmpty()) {
        throw unreadable(hidesMark);
      }
      // A cube was copied only after the one above it. So where any was, the root was.
      Set<Name> wereCopied = new TreeSet<>(listed);
      copied.forEach(name -> wereCopied.add(new Name(name.revision(), "")));
      for (Name name : wereCopied) {
        if (untold > 0 && !marked.containsKey(name)) {
          throw unmarked(untoldPath, name);
        }
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
    boolean mayBeSome =
        FileKinds.of(snapshot).isMarked()
            || StoredIndex.isIn(snapshot.metadata()) && areListed(snapshot.metadata());
    return mayBeSome ? BlockIndex.of(snapshot).replicatedCubes() : NONE;
  }

  /** Whether a table of before format 0.6 lists cubes that were copied. */
  static boolean areListed(Metadata table) {
    return !listed(table).isEmpty();
  }

  private static Set<Name> listed(Metadata table) {
    Set<Name> names = new HashSet<>();
    ScalaInterop.map(table.configuration())
        .forEach(
            (key, text) -> {
              Long revision =
                  key.startsWith(Constants.LEGACY_REPLICATED_SET_PREFIX)
                      ? Json.wholeNumber(key.substring(Constants.LEGACY_REPLICATED_SET_PREFIX.length()))
                      : null;
              JsonNode cubes = revision == null ? MissingNode.getInstance() : Json.read(text);
              if (cubes.isArray()) {
                cubes.forEach(
                    cube -> {
                      if (cube.isTextual()) {
                        names.add(new Name(revision, cube.textValue()));
                      }
                    });
              }
            });
    return names;
  }

  /**
   * The replicated cubes of a table of these files.
   *
   * @throws Refusal where a file is marked and rows that no block tells of may be its own, and where damaged tags may have
   *     marked a file or another writer may have rewritten one without its mark
   */
  public static ReplicatedCubes among(Iterable<AddFile> files, Metadata table) {
    Evidence evidence = new Evidence();
    for (AddFile file : files) {
      Map<String, String> tags = ScalaInterop.map(file.tagsOrEmpty());
      if (FileTags.isMarked(tags)) {
        List<FileTags.Block> blocks = FileTags.blocks(tags);
        if (!FileTags.areBlocksTold(tags, blocks)) {
          throw unreadable(file.path());
        }
        blocks.stream()
            .filter(FileTags.Block::replicated)
            .forEach(block -> evidence.mark(FileTags.revision(tags), block, file, blocks.size() == 1));
      }
    }
    Set<Name> listed = listed(table);
    if (evidence.marked.isEmpty() && listed.isEmpty()) {
      return NONE;
    }
    Set<Long> revisions = StoredRevision.numbers(ScalaInterop.map(table.configuration()));
    files.forEach(file -> evidence.lookAt(file, revisions));
    return evidence.judged(listed);
  }

  private static Refusal unmarked(String path, Name name) {
    String key = Constants.LEGACY_REPLICATED_SET_PREFIX + name.revision();
    return new Refusal(
        "cube '" + name.cube() + "' was copied to the cubes below it, and no file of it is marked: file " + path
            + ", which has no index or damaged tags, may hold its rows, and they would be in other files too, so nobody can"
            + " tell. Where all rows were replaced since, as an overwrite does, UNSET the table property " + key
            + " if there is one. Otherwise RESTORE the version before another writer changed the table, and run pyqbeast"
            + " upgrade --drop-replicated on it");
  }

  private static long deleted(AddFile file) {
    return file.deletionVector() == null ? 0 : file.deletionVector().cardinality();
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
