package io.pyqbeast.commit;

import io.pyqbeast.parquet.ExactParquet;
import io.pyqbeast.spark.Recomputed;
import io.pyqbeast.spark.SessionCopy;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.internal.SQLConf;

/** The session that rows are written in once they are laid out: a copy of the user's. */
final class WritingSession {
  /** Pages of fewer rows than Parquet's 20,000 let a box query skip more inside a file. */
  private static final String PAGE_ROWS = "parquet.page.row.count.limit";

  /**
   * Whether Spark (4.2 by itself, 4.1 where it is told) starts a stage from the beginning, or fails once a file is written, where
   * a lost part of a shuffle has other bytes when it is computed once more. The rows are packed for their shuffle in the
   * order in which they come, so that the same rows may well have other bytes.
   */
  private static final String STARTS_AGAIN = "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch";

  private WritingSession() {}

  /** @param pageRows rows a Parquet page */
  static SessionCopy of(SparkSession session, int pageRows) {
    SessionCopy own = SessionCopy.of(session);
    if (own.session().conf().getOption(PAGE_ROWS).isEmpty()) {
      own.session().conf().set(PAGE_ROWS, Integer.toString(pageRows));
    }
    ExactParquet.set(own.session().sessionState().conf());
    return own;
  }

  /**
   * The same for the rows of a query.
   *
   * @param query as it was analyzed; null where it is not known
   */
  static SessionCopy of(SparkSession session, int pageRows, LogicalPlan query) {
    boolean isSettled = query != null && Recomputed.isSettled(query); // may fail, and then there is no copy to close
    SessionCopy own = of(session, pageRows);
    SQLConf settings = own.session().sessionState().conf();
    if (isSettled && !settings.contains(STARTS_AGAIN)) {
      settings.setConfString(STARTS_AGAIN, "false");
    }
    return own;
  }
}
