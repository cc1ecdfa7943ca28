package io.pyqbeast.spark;

import java.util.List;
import java.util.Objects;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.files.TahoeFileIndexWithSnapshotDescriptor;
import org.apache.spark.sql.execution.datasources.FileIndex;
import scala.collection.immutable.Seq;

/** Some files of one snapshot. Filters on partitions leave all of them in, as indexed tables have no partitions. */
public final class SubsetFileIndex extends TahoeFileIndexWithSnapshotDescriptor {
  private final FileIndex whole;
  private final List<AddFile> files;

  /** @param whole the files that these are some of */
  public SubsetFileIndex(
      SparkSession session, DeltaLog log, Path path, Snapshot snapshot, FileIndex whole, List<AddFile> files) {
    super(session, log, path, snapshot);
    this.whole = whole;
    this.files = files;
  }

  public FileIndex whole() {
    return whole;
  }

  @Override
  public Seq<AddFile> matchingFiles(Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    return ScalaInterop.seq(files);
  }

  @Override
  public String[] inputFiles() {
    return files.stream().map(file -> absolutePath(file.path()).toString()).toArray(String[]::new);
  }

  @Override
  public void refresh() {}

  @Override
  public long sizeInBytes() {
    return files.stream().mapToLong(AddFile::size).sum();
  }

  /** Two scans of the same files are the same, so that Spark runs one of them for both. */
  @Override
  public boolean equals(Object other) {
    return other instanceof SubsetFileIndex that
        && path().equals(that.path())
        && version() == that.version()
        && files.equals(that.files);
  }

  @Override
  public int hashCode() {
    return Objects.hash(path(), version(), files.size());
  }
}
