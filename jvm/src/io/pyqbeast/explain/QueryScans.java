package io.pyqbeast.explain;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.pyqbeast.errors.Door;
import io.pyqbeast.spark.Frames;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.SubsetFileIndex;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;

/**
 * What the scans of a query open, as JSON that {@code bridge/query_scans.py} reads. The plan tells it before the query
 * runs, Spark's metrics tell it afterwards.
 */
public final class QueryScans {
  private static final ObjectMapper JSON = new ObjectMapper();

  private QueryScans() {}

  /** Runs a query, unless it has run already, and drops its rows. */
  public static void run(Dataset<Row> query) {
    if (Scans.of(query).stream().allMatch(scan -> Scans.totals(List.of(scan))[0] == 0)) {
      Frames.query(query).toRdd().count();
    }
  }

  /** A list of scans, each of one table in one place of the query. */
  public static String describe(Dataset<Row> query) {
    SparkSession session = query.sparkSession();
    return Door.reading(session, "the plan of a query")
        .open(
            () -> {
              List<Map<String, Object>> described = new ArrayList<>();
              for (List<Scans.Scan> parts : byTable(Scans.of(query)).values()) {
                described.add(described(parts, session));
              }
              return JSON.writeValueAsString(described);
            });
  }

  /** A sample may be planned as two scans: of files that it takes whole, and of those that it cuts. */
  private static Map<Integer, List<Scans.Scan>> byTable(List<Scans.Scan> scans) {
    Map<Object, Integer> numbers = new IdentityHashMap<>();
    Map<Integer, List<Scans.Scan>> parts = new LinkedHashMap<>();
    for (Scans.Scan scan : scans) {
      Object source = scan.node() instanceof FileSourceScanExec files ? whole(files) : scan.node();
      int number = numbers.computeIfAbsent(source, each -> numbers.size());
      parts.computeIfAbsent(number, each -> new ArrayList<>()).add(scan);
    }
    return parts;
  }

  private static FileIndex whole(FileSourceScanExec scan) {
    FileIndex files = scan.relation().location();
    return files instanceof SubsetFileIndex some ? some.whole() : files;
  }

  private static Map<String, Object> described(List<Scans.Scan> parts, SparkSession session) {
    Scans.Scan first = parts.get(0);
    Map<String, Object> described;
    if (!(first.node() instanceof FileSourceScanExec scan)) {
      String told = Scans.isRecursion(first.node()) ? ": a recursion, whose files are not told" : "";
      described = new LinkedHashMap<>(Map.of("table", first.node().nodeName() + told));
    } else if (whole(scan) instanceof PreparedDeltaFileIndex prepared) {
      described = new TableScan(prepared, parts, session).described();
    } else {
      described = ofFiles(scan);
    }
    long[] metrics = Scans.totals(parts);
    if (metrics[0] > 0) {
      described.put("ran", amount(metrics[0], metrics[1], metrics[2]));
    }
    described.put("is_cached", first.isCached());
    return described;
  }

  /** A scan of files that no log of Delta's tells about. */
  private static Map<String, Object> ofFiles(FileSourceScanExec scan) {
    FileIndex files = scan.relation().location();
    Map<String, Object> described = new LinkedHashMap<>();
    described.put("table", files.rootPaths().mkString(", "));
    described.put("total", amount(files.inputFiles().length, files.sizeInBytes(), null));
    long count = 0;
    long bytes = 0;
    for (PartitionDirectory folder :
        ScalaInterop.list(files.listFiles(known(scan.partitionFilters()), known(scan.dataFilters())))) {
      count += folder.files().size();
      bytes += ScalaInterop.list(folder.files()).stream().mapToLong(file -> file.getLen()).sum();
    }
    described.put("opened", amount(count, bytes, null));
    return described;
  }

  /** The filters whose values are known before the query runs. */
  private static scala.collection.immutable.Seq<Expression> known(scala.collection.immutable.Seq<Expression> filters) {
    return ScalaInterop.seq(
        ScalaInterop.list(filters).stream().filter(f -> !SubqueryExpression$.MODULE$.hasSubquery(f)).toList());
  }

  /** @param rows null where they are not known */
  static Map<String, Object> amount(long files, long bytes, Long rows) {
    Map<String, Object> amount = new LinkedHashMap<>();
    amount.put("files", files);
    amount.put("bytes", bytes);
    amount.put("rows", rows);
    return amount;
  }
}
