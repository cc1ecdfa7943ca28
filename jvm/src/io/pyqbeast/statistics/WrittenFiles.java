package io.pyqbeast.statistics;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.FileAction;

/** The files of laid out rows that a transaction has written, and what was counted in each of them. */
public final class WrittenFiles {
  /** @param counted null where nothing was counted */
  private record Written(AddFile file, WrittenBlocks.OfFile counted) {}

  private final List<Written> files = new ArrayList<>();

  /** @param counter of these files; null where Delta used its own tracker instead of ours */
  public void add(List<FileAction> written, StatisticsOfJob counter) {
    for (FileAction file : written) {
      if (file instanceof AddFile add) {
        files.add(new Written(add, counter == null ? null : counter.counted(add.toPath().getName())));
      }
    }
  }

  public void add(WrittenFiles others) {
    files.addAll(others.files);
  }

  /** Their paths in the log. */
  public Set<String> paths() {
    return files.stream().map(each -> each.file().path()).collect(Collectors.toSet());
  }

  public void clear() {
    files.clear();
  }

  /** For each file the fields of Python's {@code WrittenFile}. */
  public List<Map<String, Object>> fields() {
    return files.stream().map(WrittenFiles::fields).toList();
  }

  private static Map<String, Object> fields(Written file) {
    Map<String, Object> fields = new HashMap<>();
    if (file.counted() != null) {
      fields.putAll(file.counted().fields());
    }
    fields.put("path", file.file().path());
    fields.put("size", file.file().size());
    return fields;
  }
}
