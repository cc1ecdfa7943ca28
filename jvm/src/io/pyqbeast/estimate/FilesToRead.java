package io.pyqbeast.estimate;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.io.SerializedString;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pyqbeast.index.BlockIndex;
import io.pyqbeast.index.ReplicatedCubes;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex;

/** The files of each indexed table that a query's own filters leave, as Delta chooses them. */
final class FilesToRead {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final List<SampledTable> tables;
  /** For each table the paths of the files that Delta has chosen. */
  private final List<Set<String>> paths = new ArrayList<>();
  /** The numbers of the tables of which a scan reads all files, as Delta has chosen none. */
  private final Set<Integer> whole = new HashSet<>();
  /** For each table its files by path, once they have been written down. */
  private final List<Map<String, AddFile>> files = new ArrayList<>();

  /** @param optimized the plan of the query, in which Delta has chosen the files of each scan */
  FilesToRead(List<SampledTable> tables, LogicalPlan optimized) {
    this.tables = tables;
    tables.forEach(table -> paths.add(new HashSet<>()));
    collect(optimized);
  }

  /** Whether Spark answers the query without a file of the tables. */
  boolean areNone() {
    return whole.isEmpty() && paths.stream().allMatch(Set::isEmpty);
  }

  /**
   * Writes a line of JSON for each file: the number of its table, path, size, tags, statistics.
   *
   * @param target the name of a local file
   */
  void writeTo(String target) throws IOException {
    try (JsonGenerator out = JSON.createGenerator(Files.newBufferedWriter(Path.of(target)))) {
      out.setRootValueSeparator(new SerializedString("\n"));
      files.clear();
      for (int table = 0; table < tables.size(); table++) {
        files.add(new HashMap<>());
        write(out, table);
      }
    }
  }

  private void write(JsonGenerator out, int table) throws IOException {
    Snapshot snapshot = tables.get(table).snapshot();
    ReplicatedCubes cubes = BlockIndex.of(snapshot).replicatedCubes();
    for (AddFile file : BlockIndex.completeFiles(snapshot)) {
      if (whole.contains(table) || paths.get(table).contains(file.path())) {
        files.get(table).put(file.path(), file);
        out.writeStartObject();
        out.writeNumberField("table", table);
        out.writeStringField("path", file.path());
        out.writeNumberField("size", file.size());
        out.writeObjectField("tags", cubes.truthOf(ScalaInterop.map(file.tagsOrEmpty())));
        out.writeStringField("statistics", file.stats());
        out.writeEndObject();
      }
    }
  }

  /**
   * Some of the files that have been written down, for each table.
   *
   * @param chosen in each line the number of the table, a space and the path
   */
  List<List<AddFile>> chosen(String chosen) {
    List<List<AddFile>> ofTables = new ArrayList<>();
    tables.forEach(table -> ofTables.add(new ArrayList<>()));
    chosen.lines().forEach(
        line -> {
          int end = line.indexOf(' ');
          int table = Integer.parseInt(line.substring(0, end));
          ofTables.get(table).add(files.get(table).get(line.substring(end + 1)));
        });
    return ofTables;
  }

  /** Collects the files that Delta chooses. A plan that Spark's optimizer finds to be empty has none. */
  private void collect(LogicalPlan node) {
    LogicalPlans.filesRead(node, PreparedDeltaFileIndex.class).ifPresent(
        prepared -> {
          for (int table : tablesReadBy(node, prepared.path())) {
            ScalaInterop.list(prepared.preparedScan().files()).forEach(file -> paths.get(table).add(file.path()));
          }
        });
    // Delta prepares no scan where a setting turns data skipping off.
    LogicalPlans.deltaIndex(node).ifPresent(all -> whole.addAll(tablesReadBy(node, all.path())));
    ScalaInterop.list(node.children()).forEach(this::collect);
  }

  /** The places of the query that a scan may be: all that read its table, if its columns do not tell them apart. */
  private List<Integer> tablesReadBy(LogicalPlan scan, org.apache.hadoop.fs.Path path) {
    List<Integer> ofPath = new ArrayList<>();
    List<Integer> ofColumns = new ArrayList<>();
    for (int i = 0; i < tables.size(); i++) {
      SampledTable table = tables.get(i);
      if (path.equals(table.index().path())) {
        ofPath.add(i);
        if (ScalaInterop.list(scan.output()).stream().anyMatch(column -> table.has(column.exprId()))) {
          ofColumns.add(i);
        }
      }
    }
    return ofColumns.isEmpty() ? ofPath : ofColumns;
  }
}
