package io.pyqbeast.statistics;

import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.execution.datasources.WriteTaskStats;

/** What {@link BlockCounter} counted in one task, and Delta's statistics of the same files. No record, for Kryo's sake. */
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
    private final long[] weights;
    private final long strays;

    /**
     * @param keyRows rows of the most frequent key of the task: all rows of a key go to one
     * @param blocks cube, rows, smallest and largest weight of each block; null where nobody said where the rows lie
     * @param weights rows of each interval of {@code WeightCounts}
     * @param strays rows that have another weight in the file than they were laid out by
     */
    OfFile(String name, long rows, long keyRows, List<long[]> blocks, long[] weights, long strays) {
      this.name = name;
      this.rows = rows;
      this.keyRows = keyRows;
      this.blocks = blocks;
      this.weights = weights;
      this.strays = strays;
    }

    String name() {
      return name;
    }

    /** As {@code Transaction.written} tells it. */
    public Map<String, Object> told() {
      Map<String, Object> told = new HashMap<>();
      told.put("rows", rows);
      told.put("key_rows", keyRows);
      told.put("blocks", blocks);
      told.put("weights", weights);
      told.put("strays", strays);
      return told;
    }
  }
}
