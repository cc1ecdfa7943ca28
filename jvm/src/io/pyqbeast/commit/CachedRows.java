package io.pyqbeast.commit;

import io.pyqbeast.errors.Landed;
import io.pyqbeast.spark.ScalaInterop;
import java.util.Map;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.CacheManager;

/** The rows of a table in Spark's cache, under whatever name or path they were read. */
public final class CachedRows {
  private CachedRows() {}

  /**
   * Makes Spark compute the cached rows of a table again, after a commit that has changed them. They are found by where
   * the table lies: the plan of its rows is another one once the schema has changed, be it the last value of an identity
   * column. So rows of old versions are computed again as well, and are the same.
   *
   * @param options with which Hadoop reaches the table
   */
  public static void refresh(SparkSession spark, String path, Map<String, String> options) {
    org.apache.spark.sql.classic.SparkSession session = (org.apache.spark.sql.classic.SparkSession) spark;
    CacheManager caches = session.sharedState().cacheManager();
    if (caches.isEmpty()) {
      return;
    }
    Landed.quietly(
        path,
        () -> {
          Path place = new Path(path);
          FileSystem store =
              place.getFileSystem(session.sessionState().newHadoopConfWithOptions(ScalaInterop.map(options)));
          caches.recacheByPath(session, place, store);
        });
  }
}
