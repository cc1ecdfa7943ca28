package io.pyqbeast.commit;

import io.pyqbeast.parquet.LocalFiles;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.SessionCopy;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Relocated$;
import org.apache.spark.sql.internal.SQLConf;

/**
 * The session in which Delta writes, after a commit, the file with the sums of its version. On a local disk Spark gives the file
 * its name in a way for which Hadoop starts four programs: a sixth of the time of a small append.
 */
final class ChecksumSession {
  /** Where Spark is told by which class it makes a file of which readers see all or nothing. */
  private static final String NAMING = SQLConf.STREAMING_CHECKPOINT_FILE_MANAGER_CLASS().parent().key();

  /** Spark's own class for file systems that know no better way: it renames a file once it is complete. */
  private static final String BY_RENAMING =
      Relocated$.MODULE$.CheckpointFileManager().getClass().getPackageName() + ".FileSystemBasedCheckpointFileManager";

  private ChecksumSession() {}

  /**
   * Writes the file in a session of its own where the table lies on a local disk, unless the user has made a choice, or a copy
   * of the session takes longer than the programs.
   */
  static void run(DeltaLog log, Runnable writing) {
    SparkSession active = SparkSession.active();
    Configuration given = log.newDeltaHadoopConf();
    Map<String, String> files = LocalFiles.settings(given);
    boolean isLocal = "file".equals(log.logPath().toUri().getScheme());
    if (!isLocal || files.isEmpty() || given.get(NAMING) != null || SessionCopy.copiesFiles(active)) {
      writing.run();
      return;
    }
    try (SessionCopy own = SessionCopy.of(active)) {
      SQLConf settings = own.session().sessionState().conf();
      settings.setConfString(NAMING, BY_RENAMING);
      files.forEach(settings::setConfString);
      own.session()
          .withActive(
              ScalaInterop.supplier(
                  () -> {
                    writing.run();
                    return null;
                  }));
    }
  }
}
