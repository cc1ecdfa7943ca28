package io.pyqbeast.commit;

import io.pyqbeast.spark.CurrentTime;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.execution.QueryExecution;

/**
 * Rows in which one time stands for {@code now()} and the like. Spark gives each query a time of its own, and a write
 * reads its rows twice: a row that is laid out by the first time would belong elsewhere by the second.
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
