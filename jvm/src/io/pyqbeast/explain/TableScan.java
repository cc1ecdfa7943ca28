package io.pyqbeast.explain;

import io.pyqbeast.format.FileTags;
import io.pyqbeast.format.HashedColumns;
import io.pyqbeast.format.StoredIndex;
import io.pyqbeast.format.StoredRows;
import io.pyqbeast.index.BlockIndex;
import io.pyqbeast.index.PrunableRevisions;
import io.pyqbeast.index.WeightRange;
import io.pyqbeast.parquet.RowGroups;
import io.pyqbeast.sample.SampleRule;
import io.pyqbeast.spark.LiveFiles;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.SubsetFileIndex;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.skipping.clustering.ClusteringColumnInfo$;
import org.apache.spark.sql.delta.stats.DeltaScan;
import org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SampleExec;

/** One scan of a Delta table: the files that it opens, and who has ruled out each of the others. */
final class TableScan {
  /** The footers of more files are not read for their row groups. */
  private static final int MOST_FOOTERS = 256;

  private final PreparedDeltaFileIndex index;
  private final DeltaScan scan;
  private final Snapshot snapshot;
  private final List<Scans.Scan> parts;
  private final SparkSession session;
  private final boolean hasIndex;
  private final List<AddFile> files;
  private final Set<String> opened;
  private final WeightRange range;
  private final List<Expression> conditions;

  TableScan(PreparedDeltaFileIndex index, List<Scans.Scan> parts, SparkSession session) {
    this.index = index;
    this.parts = parts;
    this.session = session;
    scan = index.preparedScan();
    snapshot = scan.scannedSnapshot();
    hasIndex = StoredIndex.isIn(snapshot.metadata());
    files = hasIndex ? BlockIndex.completeFiles(snapshot) : LiveFiles.of(snapshot);
    opened = paths(ScalaInterop.list(scan.files()));
    List<Expression> filters = ScalaInterop.list(scan.allFilters().toSeq());
    range = hasIndex ? WeightRange.of(filters, columns().all()) : null;
    conditions = withoutNullChecks(range == null ? filters : range.others());
  }

  Map<String, Object> described() {
    Map<String, Object> described = new LinkedHashMap<>();
    described.put("table", index.path().toString());
    described.put("version", snapshot.version());
    described.put("indexed_columns", columns().indexed());
    described.put("hashed_columns", columns().all());
    described.put("partition_columns", ScalaInterop.list(snapshot.metadata().partitionColumns()));
    described.put("is_clustered", !ClusteringColumnInfo$.MODULE$.extractLogicalNames(snapshot).isEmpty());
    described.put("total", amount(file -> true));
    described.put("opened", amount(file -> opened.contains(file.path())));
    List<Map<String, Object>> alone = new ArrayList<>();
    Set<String> ruledOutByPartitions = describeConditions(alone);
    Map<String, List<AddFile>> skipped =
        files.stream()
            .filter(file -> !opened.contains(file.path()))
            .collect(Collectors.groupingBy(skipper(ruledOutByPartitions), LinkedHashMap::new, Collectors.toList()));
    Map<String, Object> bySkipper = new LinkedHashMap<>();
    skipped.forEach((by, of) -> bySkipper.put(by, amount(of)));
    described.put("skipped", bySkipper);
    described.put("conditions", alone);
    if (range != null) {
      described.put("weights", List.of(range.from(), range.to()));
    }
    if (hasIndex) {
      Set<String> prunable = PrunableRevisions.of(snapshot.metadata());
      described.put("unindexed", amount(file -> isOpenedOf(file, revision -> revision == null)));
      described.put(
          "stale", amount(file -> isOpenedOf(file, revision -> revision != null && !prunable.contains("" + revision))));
    }
    RowGroups groups = rowGroups();
    if (groups != null) {
      described.put("row_groups", List.of(groups.read(), groups.all()));
    }
    if (parts.get(0).sample() != null) {
      described.put("drawn_by_spark", drawnBySpark(parts.get(0).sample()));
    }
    return described;
  }

  private HashedColumns columns() {
    return hasIndex ? HashedColumns.of(snapshot.metadata()) : HashedColumns.NONE;
  }

  /** Each condition with what Delta skips by it alone. Returns the files that conditions on partitions rule out. */
  private Set<String> describeConditions(List<Map<String, Object>> described) {
    Set<String> partitions = Set.copyOf(ScalaInterop.list(snapshot.metadata().partitionColumns()));
    Set<String> ruledOut = new java.util.HashSet<>();
    for (Expression condition : conditions) {
      List<String> names = HashedColumns.namedToday(names(condition), snapshot.metadata());
      boolean isOfPartitions = !names.isEmpty() && partitions.containsAll(names);
      Set<String> left = paths(ScalaInterop.list(filesThatMayMeet(condition)));
      if (isOfPartitions) {
        files.stream().map(AddFile::path).filter(path -> !left.contains(path)).forEach(ruledOut::add);
      }
      Map<String, Object> one = new LinkedHashMap<>();
      one.put("text", text(condition));
      one.put("columns", names);
      one.put("skips", amount(file -> !left.contains(file.path())));
      one.put("is_usable", scan.filtersUsedForSkipping().contains(condition));
      described.add(one);
    }
    return ruledOut;
  }

  private scala.collection.immutable.Seq<AddFile> filesThatMayMeet(Expression condition) {
    boolean isKnown = condition.deterministic() && !SubqueryExpression$.MODULE$.hasSubquery(condition);
    return isKnown
        ? snapshot.filesForScan(ScalaInterop.seq(List.of(condition)), false).files()
        : ScalaInterop.seq(files);
  }

  /** Who rules a file out. The index comes first, as a sample asks it alone where it has no other conditions. */
  private Function<AddFile, String> skipper(Set<String> ruledOutByPartitions) {
    BlockIndex blocks = hasIndex ? BlockIndex.of(snapshot) : null;
    Set<String> readable = hasIndex ? paths(blocks.files()) : paths(files);
    return file -> {
      if (!readable.contains(file.path())) {
        return "replicated";
      }
      if (range != null && !blocks.mayHold(file, range)) {
        return "weights";
      }
      if (ruledOutByPartitions.contains(file.path())) {
        return "partitions";
      }
      return conditions.isEmpty() ? "limit" : "statistics";
    };
  }

  private boolean isOpenedOf(AddFile file, Predicate<Long> isRevision) {
    Map<String, String> tags = ScalaInterop.map(file.tagsOrEmpty());
    Long revision = FileTags.blocks(tags).isEmpty() ? null : FileTags.revision(tags);
    return opened.contains(file.path()) && isRevision.test(revision);
  }

  /** Null where too many files are opened, or a footer cannot be read. */
  private RowGroups rowGroups() {
    RowGroups sum = RowGroups.NONE;
    if (opened.size() > MOST_FOOTERS) {
      return null;
    }
    for (Scans.Scan part : parts) {
      FileSourceScanExec node = (FileSourceScanExec) part.node();
      List<AddFile> read =
          node.relation().location() instanceof SubsetFileIndex some
              ? ScalaInterop.list(some.matchingFiles(ScalaInterop.seq(List.of()), ScalaInterop.seq(List.of())))
              : ScalaInterop.list(scan.files());
      Map<Path, Long> bytes =
          read.stream().collect(Collectors.toMap(file -> index.absolutePath(file.path()), AddFile::size));
      List<Expression> filters = ScalaInterop.list(node.dataFilters());
      RowGroups groups = RowGroups.of(bytes, filters, snapshot);
      if (groups == null) {
        return null;
      }
      sum = sum.plus(groups);
    }
    return sum;
  }

  /** Why Spark draws a sample of an indexed table row by row; empty where the table has no index. */
  private String drawnBySpark(SampleExec sample) {
    if (!hasIndex) {
      return "";
    }
    if (!SampleRule.isEnabled(session)) {
      return SampleRule.ENABLED + " is false";
    }
    if (sample.withReplacement()) {
      return "it is drawn with replacement";
    }
    String problem = SampleRule.problem(snapshot, sample.upperBound() - sample.lowerBound());
    return problem == null
        ? "it is drawn of something else than the table with conditions that say nothing about weights"
        : problem;
  }

  /** Spark adds checks for null to comparisons, which rule out no rows that the comparisons leave. */
  private static List<Expression> withoutNullChecks(List<Expression> filters) {
    Set<String> compared =
        filters.stream()
            .filter(filter -> !(filter instanceof IsNotNull))
            .flatMap(filter -> names(filter).stream())
            .collect(Collectors.toSet());
    return filters.stream()
        .filter(filter -> !(filter instanceof IsNotNull) || !compared.containsAll(names(filter)))
        .toList();
  }

  private static List<String> names(Expression condition) {
    return ScalaInterop.list(condition.references().toSeq()).stream().map(Attribute::name).distinct().toList();
  }

  private static String text(Expression condition) {
    Expression bare =
        condition.transformUp(
            ScalaInterop.<Expression, AttributeReference>partial(
                AttributeReference.class, column -> column.withQualifier(ScalaInterop.seq(List.of()))));
    return bare.sql();
  }

  private static Set<String> paths(List<AddFile> files) {
    return files.stream().map(AddFile::path).collect(Collectors.toSet());
  }

  private Map<String, Object> amount(Predicate<AddFile> isCounted) {
    return amount(files.stream().filter(isCounted).toList());
  }

  /** Files, bytes and rows that are not deleted. */
  private static Map<String, Object> amount(List<AddFile> of) {
    Long rows = 0L;
    for (AddFile file : of) {
      Long stored = StoredRows.of(file);
      rows = rows == null || stored == null ? null : rows + stored - file.numDeletedRecords();
    }
    return QueryScans.amount(of.size(), of.stream().mapToLong(AddFile::size).sum(), rows);
  }
}
