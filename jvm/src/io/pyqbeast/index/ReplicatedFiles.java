package io.pyqbeast.index;

import io.pyqbeast.errors.Refusal;
import io.pyqbeast.format.FileTags;
import io.pyqbeast.spark.ScalaInterop;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;

/** Leaves out of scans the files whose rows other files hold too: older releases copied cubes to their children. */
public final class ReplicatedFiles {
  private ReplicatedFiles() {}

  /**
   * The files without those whose rows other files of the snapshot hold too.
   *
   * @throws Refusal where a file holds replicated blocks and others: their rows look alike
   */
  public static List<AddFile> without(List<AddFile> files, Snapshot snapshot) {
    boolean mayBeMarked =
        ReplicatedCubes.areListed(snapshot.metadata())
            || files.stream().anyMatch(file -> FileTags.isMarked(ScalaInterop.map(file.tagsOrEmpty())));
    return mayBeMarked ? without(files, BlockIndex.of(snapshot).replicatedCubes()) : files;
  }

  /** The same, where the replicated cubes of the snapshot are known. */
  static List<AddFile> without(List<AddFile> files, ReplicatedCubes cubes) {
    return cubes.isEmpty() ? files : files.stream().filter(file -> isRead(file, cubes)).toList();
  }

  private static boolean isRead(AddFile file, ReplicatedCubes cubes) {
    Map<String, String> tags = ScalaInterop.map(file.tagsOrEmpty());
    boolean holdsCopies = cubes.holdsCopies(tags);
    if (holdsCopies && !cubes.holdsOnlyCopies(tags)) {
      throw new Refusal(
          "file " + file.path() + " holds replicated blocks beside others, so its rows cannot be read only once:"
              + " write the table anew from its source");
    }
    return !holdsCopies;
  }
}
