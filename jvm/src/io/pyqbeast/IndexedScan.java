package io.pyqbeast;

import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionSet;
import org.apache.spark.sql.catalyst.expressions.ExpressionSet$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.delta.stats.DataSize;
import org.apache.spark.sql.delta.stats.DeltaDataSkippingType;
import org.apache.spark.sql.delta.stats.DeltaScan;
import org.apache.spark.sql.delta.stats.DeltaScanGenerator;
import org.apache.spark.sql.delta.stats.PrepareDeltaScan;
import org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.collection.immutable.Set$;

/**
 * Delta's own preparation of scans, with one thing more: where the filters bound the rows' weight, files whose blocks
 * lie outside the bounds are left out. Snapshot isolation, deletion vectors and data skipping stay Delta's.
 */
public final class IndexedScan extends PrepareDeltaScan {
  public IndexedScan(SparkSession session) {
    super(session);
  }

  @Override
  public DeltaScan filesForScan(
      DeltaScanGenerator generator, Option<Object> limit, Seq<Expression> filters, LogicalRelation relation) {
    Snapshot snapshot = generator.snapshotToScan();
    WeightRange range =
        WeightRange.of(Scala.list(filters), IndexedColumns.of(snapshot.metadata().configuration()));
    if (range == null || limit.nonEmpty()) {
      return super.filesForScan(generator, limit, filters, relation);
    }
    BlockIndex index = BlockIndex.of(snapshot);
    // Inside a transaction Delta has to see the scan, to find conflicts with what others wrote meanwhile.
    boolean onlyWeights = range.others().isEmpty() && generator instanceof Snapshot;
    DeltaScan scan = onlyWeights ? whole(snapshot, index, filters) : super.filesForScan(generator, limit, filters, relation);
    List<AddFile> left = Scala.list(scan.files()).stream().filter(file -> index.mayHold(file, range)).toList();
    return with(scan, left);
  }

  @Override
  public PreparedDeltaFileIndex getPreparedIndex(DeltaScan scan, TahoeLogFileIndex files) {
    PreparedDeltaFileIndex prepared = super.getPreparedIndex(scan, files);
    boolean indexed = !IndexedColumns.of(scan.scannedSnapshot().metadata().configuration()).isEmpty();
    return indexed ? new IndexedFiles(prepared) : prepared;
  }

  private static DeltaScan whole(Snapshot snapshot, BlockIndex index, Seq<Expression> filters) {
    DataSize size = sizeOf(index.files());
    ExpressionSet none = ExpressionSet$.MODULE$.apply(Scala.seq(List.of()));
    return new DeltaScan(
        snapshot.version(), Scala.seq(index.files()), size, size, size, snapshot, none, none, none,
        Set$.MODULE$.empty(), ExpressionSet$.MODULE$.apply(filters), 0L, DeltaDataSkippingType.dataSkippingOnlyV1());
  }

  private static DeltaScan with(DeltaScan scan, List<AddFile> files) {
    return new DeltaScan(
        scan.version(), Scala.seq(files), scan.total(), scan.partition(), sizeOf(files), scan.scannedSnapshot(),
        scan.partitionFilters(), scan.dataFilters(), scan.partitionLikeDataFilters(),
        scan.rewrittenPartitionLikeDataFilters(), scan.unusedFilters(), scan.scanDurationMs(),
        scan.dataSkippingType());
  }

  private static DataSize sizeOf(List<AddFile> files) {
    long bytes = files.stream().mapToLong(AddFile::size).sum();
    return new DataSize(Option.apply(bytes), Option.empty(), Option.apply((long) files.size()), Option.empty());
  }
}
