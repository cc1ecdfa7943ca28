package io.pyqbeast.commit;

import io.pyqbeast.parquet.ExactParquet;
import io.pyqbeast.spark.SessionCopy;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.internal.SQLConf;

/** The session that rows are written in once they are laid out: a copy of the user's. */
final class WritingSession {
  /** Pages of fewer rows than Parquet's 20,000 let a box query skip more inside a file. */
  private static final String PAGE_ROWS = "parquet.page.row.count.limit";

  /**
   * By these Spark (4.2 by itself, 4.1 where it is told) finds out that a lost part of a shuffle has other bytes when it is
   * computed once more, and starts a stage from the beginning, or fails once a file is written. The rows are packed for their
   * shuffle in the order in which they come, so that the same rows may well have other bytes. The checksums alone take a
   * twentieth of a write.
   */
  private static final List<String> COMPARISONS =
      List.of(
          "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch",
          "spark.sql.shuffle.orderIndependentChecksum.enableQueryLevelRollbackOnMismatch",
          "spark.sql.shuffle.orderIndependentChecksum.enabled");

  private WritingSession() {}

  /**
   * @param pageRows rows a Parquet page
   * @param isSettled whether the rows are the same whenever they are computed; then nothing is compared, unless the user
   *     wishes it
   */
  static SessionCopy of(SparkSession session, int pageRows, boolean isSettled) {
    SessionCopy own = SessionCopy.of(session);
    if (own.session().conf().getOption(PAGE_ROWS).isEmpty()) {
      own.session().conf().set(PAGE_ROWS, Integer.toString(pageRows));
    }
    SQLConf settings = own.session().sessionState().conf();
    ExactParquet.set(settings);
    if (isSettled && COMPARISONS.stream().noneMatch(settings::contains)) {
      COMPARISONS.forEach(name -> settings.setConfString(name, "false"));
    }
    return own;
  }
}
