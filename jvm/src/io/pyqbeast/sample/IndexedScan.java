package io.pyqbeast.sample;

import io.pyqbeast.format.HashedColumns;
import io.pyqbeast.format.StoredIndex;
import io.pyqbeast.index.BlockIndex;
import io.pyqbeast.index.ReplicatedCubes;
import io.pyqbeast.index.ReplicatedFiles;
import io.pyqbeast.index.WeightRange;
import io.pyqbeast.spark.DeltaScans;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.WidenedFloats;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.Predicate;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.delta.stats.DeltaScan;
import org.apache.spark.sql.delta.stats.DeltaScanGenerator;
import org.apache.spark.sql.delta.stats.PrepareDeltaScan;
import org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Replaces Delta's preparation of scans, which chooses the files that a scan reads. It leaves out two more kinds of
 * files. If filters bound the weight of the rows, it leaves out files whose blocks lie outside of these bounds. It
 * always leaves out files of replicated blocks, also from counts that Delta answers from statistics. Snapshot
 * isolation, deletion vectors and data skipping stay as Delta does them.
 */
public final class IndexedScan extends PrepareDeltaScan {
  /** Those of the queries that are being optimized. */
  private static final Map<QueryPlanningTracker, IndexedScan> OF_QUERIES =
      Collections.synchronizedMap(new WeakHashMap<>());

  private IndexedScan(SparkSession session) {
    super(session);
  }

  /**
   * The rule of the query that this thread optimizes, subqueries included, for which Spark makes all rules anew. It reads one
   * version of each table, whoever asks for it first.
   */
  public static IndexedScan ofQuery(SparkSession session) {
    Option<QueryPlanningTracker> query = QueryPlanningTracker.get();
    if (query.isEmpty()) {
      return new IndexedScan(session);
    }
    IndexedScan known = OF_QUERIES.computeIfAbsent(query.get(), each -> new IndexedScan(session));
    // Amid a query, another session may optimize one of its own.
    return known.spark() == session ? known : new IndexedScan(session);
  }

  /**
   * Delta prepares no scans of a write through DataSource V2, since its own writes plan their rows once more, inside the
   * transaction. A sink that does not do so reads the scans of this plan.
   */
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (plan instanceof Subquery) {
      return super.apply(plan); // it is prepared together with the query that it is part of
    }
    try {
      return prepared(plan);
    } finally {
      // Whatever else is optimized on behalf of the same query, as a function of SQL may do, reads versions of its own.
      OF_QUERIES.values().remove(this);
    }
  }

  private LogicalPlan prepared(LogicalPlan plan) {
    return plan instanceof V2WriteCommand write && !plansAgain(write)
        ? plan.withNewChildren(ScalaInterop.seq(List.of(super.apply(write.query()))).toIndexedSeq())
        : super.apply(plan);
  }

  private static boolean plansAgain(V2WriteCommand write) {
    return !(write.table() instanceof DataSourceV2Relation sink)
        || sink.table().capabilities().contains(TableCapability.V1_BATCH_WRITE);
  }

  @Override
  public DeltaScan filesForScan(
      DeltaScanGenerator generator, Option<Object> limit, Seq<Expression> filters, LogicalRelation relation) {
    Snapshot snapshot = generator.snapshotToScan();
    if (!StoredIndex.isIn(snapshot.metadata())) {
      return super.filesForScan(generator, limit, filters, relation);
    }
    // Inside a transaction Delta has to see the scan, to find conflicts with what others wrote meanwhile.
    boolean free = generator instanceof Snapshot && limit.isEmpty();
    if (free && filters.isEmpty()) {
      return DeltaScans.of(snapshot, BlockIndex.of(snapshot).files(), filters); // Delta would run a job to list all files
    }
    WeightRange range = WeightRange.of(ScalaInterop.list(filters), HashedColumns.of(snapshot.metadata()).all());
    if (range == null || limit.nonEmpty()) {
      return readable(generator, limit, filters, relation);
    }
    BlockIndex index = BlockIndex.of(snapshot);
    boolean onlyWeights = range.others().isEmpty() && free;
    DeltaScan scan =
        onlyWeights ? DeltaScans.of(snapshot, index.files(), filters) : readable(generator, limit, filters, relation);
    List<AddFile> left = ScalaInterop.list(scan.files()).stream().filter(file -> index.mayHold(file, range)).toList();
    return DeltaScans.with(scan, left);
  }

  private DeltaScan readable(
      DeltaScanGenerator generator, Option<Object> limit, Seq<Expression> filters, LogicalRelation relation) {
    Snapshot snapshot = generator.snapshotToScan();
    if (generator instanceof Snapshot) {
      DeltaScanGenerator known = BlockIndex.filtering(snapshot);
      if (known != snapshot) {
        return DeltaScans.in(snapshot, super.filesForScan(known, limit, filters, relation));
      }
    }
    DeltaScan scan = super.filesForScan(generator, limit, filters, relation);
    List<AddFile> files = ScalaInterop.list(scan.files());
    List<AddFile> left = ReplicatedFiles.without(files, snapshot);
    if (left.size() < files.size() && limit.nonEmpty()) {
      // Delta chose just as many files as the limit needs. They may be too few once some are left out, so the limit is
      // ignored.
      return readable(generator, Option.empty(), filters, relation);
    }
    if (generator instanceof Snapshot) {
      return left.size() < files.size() ? DeltaScans.with(scan, left) : scan;
    }
    boolean isListedByJob = !filters.isEmpty() && !BlockIndex.filtersOnDriver(snapshot);
    return DeltaScans.with(scan, isListedByJob ? left : inOrder(left, snapshot));
  }

  /**
   * Files that a transaction reads, in the order in which other queries read them where the driver lists them. A write
   * looks at its rows before its transaction reads them. Spark packs files of one size as they come, and rows that are
   * numbered in their tasks, as those of identity columns are, have to get the same numbers both times.
   */
  private static List<AddFile> inOrder(List<AddFile> files, Snapshot snapshot) {
    BlockIndex index = BlockIndex.ifKnown(snapshot);
    if (index == null) {
      return files;
    }
    Map<String, Integer> places = new HashMap<>();
    index.files().forEach(file -> places.put(file.path(), places.size()));
    return files.stream()
        .sorted(Comparator.comparingInt(file -> places.getOrDefault(file.path(), Integer.MAX_VALUE)))
        .toList();
  }

  @Override
  public PreparedDeltaFileIndex getPreparedIndex(DeltaScan scan, TahoeLogFileIndex index) {
    PreparedDeltaFileIndex prepared = super.getPreparedIndex(scan, index);
    return StoredIndex.isIn(scan.scannedSnapshot().metadata()) ? new PrunedFileIndex(prepared) : prepared;
  }

  @Override
  public LogicalPlan optimizeQueryWithMetadata(LogicalPlan plan) {
    LogicalPlan answered = super.optimizeQueryWithMetadata(plan);
    return answered == plan || !reads(plan, IndexedScan::misleads) ? answered : plan;
  }

  @Override
  public LogicalPlan prepareDeltaScanWithoutFileSkipping(LogicalPlan plan) {
    LogicalPlan unprepared = super.prepareDeltaScanWithoutFileSkipping(plan);
    return reads(unprepared, IndexedScan::hasReplicated) ? prepareDeltaScan(unprepared) : unprepared;
  }

  private static boolean hasReplicated(Snapshot snapshot) {
    return !ReplicatedCubes.of(snapshot).isEmpty();
  }

  /** Whether counts and bounds that follow from the statistics of all files may be wrong. */
  private static boolean misleads(Snapshot snapshot) {
    return hasReplicated(snapshot)
        || StoredIndex.isIn(snapshot.metadata()) && WidenedFloats.areIn(snapshot.metadata().schema());
  }

  /** Whether a plan reads a table of which something is true. */
  private boolean reads(LogicalPlan plan, Predicate<Snapshot> wanted) {
    return LogicalPlans.isAnyNode(
        plan,
        node ->
            LogicalPlans.deltaIndex(node)
                .filter(index -> wanted.test(getDeltaScanGenerator(index).snapshotToScan()))
                .isPresent());
  }
}
