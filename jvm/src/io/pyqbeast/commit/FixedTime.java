package io.pyqbeast.commit;

import io.pyqbeast.spark.CurrentTime;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.execution.QueryExecution;

/**
 * Rows with the time of a write in place of what tells the current one. Each query has a time of its own, and
 * a write looks at its rows twice: those that are laid out by the first time would lie elsewhere by the second.
 */
final class FixedTime {
  private FixedTime() {}

  static Dataset<Row> in(Dataset<Row> rows) {
    org.apache.spark.sql.classic.Dataset<Row> classic = (org.apache.spark.sql.classic.Dataset<Row>) rows;
    QueryExecution query = classic.queryExecution();
    if (!CurrentTime.isUsedBy(query.analyzed())) {
      return rows;
    }
    // Rows in the cache keep the time that they have there, and are found by the plan as it was.
    return Dataset$.MODULE$.ofRows(classic.sparkSession(), CurrentTime.fixed(query.withCachedData()));
  }
}
