package io.pyqbeast.statistics;

import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.execution.datasources.WriteTaskStats;

/**
 * What {@link BlockCounter} counted in one task, and Delta's statistics of the same files. It is no record because
 * Kryo cannot read records.
 */
public final class WrittenBlocks implements WriteTaskStats {
  private static final long serialVersionUID = 1L;

  private final WriteTaskStats statistics;
  private final List<OfFile> files;

  WrittenBlocks(WriteTaskStats statistics, List<OfFile> files) {
    this.statistics = statistics;
    this.files = files;
  }

  /** Null where statistics are not collected. */
  WriteTaskStats statistics() {
    return statistics;
  }

  List<OfFile> files() {
    return files;
  }

  /** One file, named without its folder: the names are unique. */
  public static final class OfFile implements Serializable {
    private static final long serialVersionUID = 1L;

    private final String name;
    private final long rows;
    private final long keyRows;
    private final List<long[]> blocks;
    private final List<long[]> parts;
    private final long[] weights;
    private final long strays;

    /**
     * @param keyRows rows of the most frequent key of the task: all rows of a key go to one
     * @param blocks cube, rows, smallest and largest weight of each block; null if the targets of the rows are not
     *     known
     * @param parts of each part but the first: where it begins, the largest weight before it, and the smallest from
     *     there on
     * @param weights rows of each interval of {@code WeightCounts}
     * @param strays rows that have another weight in the file than they were laid out by
     */
    OfFile(
        String name,
        long rows,
        long keyRows,
        List<long[]> blocks,
        List<long[]> parts,
        long[] weights,
        long strays) {
      this.name = name;
      this.rows = rows;
      this.keyRows = keyRows;
      this.blocks = blocks;
      this.parts = parts;
      this.weights = weights;
      this.strays = strays;
    }

    String name() {
      return name;
    }

    /** The fields of Python's {@code WrittenFile}. */
    public Map<String, Object> fields() {
      Map<String, Object> fields = new HashMap<>();
      fields.put("rows", rows);
      fields.put("key_rows", keyRows);
      fields.put("blocks", blocks);
      fields.put("parts", parts);
      fields.put("weights", weights);
      fields.put("strays", strays);
      return fields;
    }
  }
}
