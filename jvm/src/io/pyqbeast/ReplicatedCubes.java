package io.pyqbeast;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Which files hold rows that other files hold too. Releases before format 0.6 copied the rows of a full cube to the cubes
 * below it and marked its blocks as replicated. A mark alone is not believed: a damaged or foreign one would hide rows
 * that are nowhere else.
 *
 * <p>Every copied row keeps its weight. So below a cube that was copied there is a block that begins exactly with its
 * lightest row, and the blocks that may hold copies count at least as many rows. Where nothing was copied, a cube keeps
 * the lightest rows to itself and every block below begins with a heavier one.
 */
final class ReplicatedCubes {
  private record Name(long revision, String cube) {}

  /** The marked blocks of one cube, and what is seen of their rows below it. */
  private static final class Marked {
    private final Set<Integer> starts = new HashSet<>();
    private final List<FileTags.Block> blocks = new ArrayList<>();
    private int largest = Facts.WEIGHT_MIN;
    private double rows;
    private boolean isLightestSeen;
    private double seen;

    void add(FileTags.Block block) {
      blocks.add(block);
      starts.add(block.lowest());
      largest = Math.max(largest, block.highest());
      rows += block.rows();
    }

    void see(FileTags.Block below) {
      isLightestSeen |= starts.contains(below.lowest());
      seen += below.lowest() <= largest ? below.rows() : 0;
    }

    boolean isCopied() {
      return isLightestSeen && seen >= rows;
    }
  }

  private final Map<Name, Marked> marked = new HashMap<>();
  private final Set<Integer> lengths = new HashSet<>();
  private final Set<Name> copied = new HashSet<>();

  /** @param tagsOfFiles of all files of a snapshot */
  ReplicatedCubes(Iterable<Map<String, String>> tagsOfFiles) {
    for (Map<String, String> tags : tagsOfFiles) {
      if (FileTags.replicated(tags) != FileTags.Replicated.NONE) {
        FileTags.blocks(tags).stream().filter(FileTags.Block::replicated).forEach(block -> mark(tags, block));
      }
    }
    if (marked.isEmpty()) {
      return;
    }
    for (Map<String, String> tags : tagsOfFiles) {
      for (FileTags.Block block : FileTags.blocks(tags)) {
        if (!block.replicated()) {
          show(FileTags.revision(tags), block);
        }
      }
    }
    judge();
  }

  /** Whether a file of these tags holds a block whose rows other files hold too. */
  boolean repeat(Map<String, String> tags) {
    return !copied.isEmpty()
        && FileTags.blocks(tags).stream().anyMatch(block -> isCopied(FileTags.revision(tags), block));
  }

  /** Whether all blocks of a file of these tags are such blocks. */
  boolean repeatAll(Map<String, String> tags) {
    return repeat(tags)
        && FileTags.blocks(tags).stream().allMatch(block -> isCopied(FileTags.revision(tags), block));
  }

  boolean isEmpty() {
    return copied.isEmpty();
  }

  private boolean isCopied(long revision, FileTags.Block block) {
    return block.replicated() && copied.contains(new Name(revision, block.cube()));
  }

  private void mark(Map<String, String> tags, FileTags.Block block) {
    marked.computeIfAbsent(new Name(FileTags.revision(tags), block.cube()), name -> new Marked()).add(block);
    lengths.add(block.cube().length());
  }

  /** Tells the marked cubes above a block of it, unless it has no rows. */
  private void show(long revision, FileTags.Block block) {
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

  /** From the deepest on: blocks that are marked without cause may hold the copies of those above them. */
  private void judge() {
    List<Name> deepestFirst = new ArrayList<>(marked.keySet());
    deepestFirst.sort(Comparator.comparingInt((Name name) -> name.cube().length()).reversed());
    for (Name name : deepestFirst) {
      Marked cube = marked.get(name);
      if (cube.isCopied()) {
        copied.add(name);
      } else {
        cube.blocks.forEach(block -> show(name.revision(), block));
      }
    }
  }
}
