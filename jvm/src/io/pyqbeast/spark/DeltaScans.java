package io.pyqbeast.spark;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionSet;
import org.apache.spark.sql.catalyst.expressions.ExpressionSet$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.stats.DataSize;
import org.apache.spark.sql.delta.stats.DeltaDataSkippingType;
import org.apache.spark.sql.delta.stats.DeltaScan;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.collection.immutable.Set$;

/** What Delta calls a scan: the files that it reads, and what came of the filters. */
public final class DeltaScans {
  private DeltaScans() {}

  /** A scan of these files, for which Delta has used none of the filters. */
  public static DeltaScan of(Snapshot snapshot, List<AddFile> files, Seq<Expression> filters) {
    DataSize size = sizeOf(files);
    ExpressionSet none = ExpressionSet$.MODULE$.apply(ScalaInterop.seq(List.of()));
    return new DeltaScan(
        snapshot.version(), ScalaInterop.seq(files), size, size, size, snapshot, none, none, none,
        Set$.MODULE$.empty(), ExpressionSet$.MODULE$.apply(filters), 0L, DeltaDataSkippingType.dataSkippingOnlyV1());
  }

  /** The same scan of other files. */
  public static DeltaScan with(DeltaScan scan, List<AddFile> files) {
    return copy(scan, ScalaInterop.seq(files), sizeOf(files), scan.scannedSnapshot());
  }

  /** The same scan, said to be one of this snapshot. */
  public static DeltaScan in(Snapshot snapshot, DeltaScan scan) {
    return copy(scan, scan.files(), scan.scanned(), snapshot);
  }

  private static DeltaScan copy(DeltaScan scan, Seq<AddFile> files, DataSize scanned, Snapshot snapshot) {
    return new DeltaScan(
        scan.version(), files, scan.total(), scan.partition(), scanned, snapshot, scan.partitionFilters(),
        scan.dataFilters(), scan.partitionLikeDataFilters(), scan.rewrittenPartitionLikeDataFilters(),
        scan.unusedFilters(), scan.scanDurationMs(), scan.dataSkippingType());
  }

  private static DataSize sizeOf(List<AddFile> files) {
    long bytes = files.stream().mapToLong(AddFile::size).sum();
    return new DataSize(Option.apply(bytes), Option.empty(), Option.apply((long) files.size()), Option.empty());
  }
}
