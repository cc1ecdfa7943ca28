package io.pyqbeast.spark;

import java.lang.reflect.Field;
import java.util.Map;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.artifact.ArtifactManager;
import org.apache.spark.sql.artifact.RefCountedCacheId;
import org.apache.spark.storage.BlockManager;

/**
 * Rows that a client of Spark Connect has uploaded. They stay until every session that has a claim on them gives it back. Since
 * Spark 4.1 a copy of a session has one, and its own copies have some, too.
 */
final class UploadedRows {
  private UploadedRows() {}

  /** Gives back the claims of a session. Plans hold the rows that they are about. */
  static void giveBack(ArtifactManager uploads) throws ReflectiveOperationException {
    Field field = ArtifactManager.class.getDeclaredField("hashToCachedIdMap");
    field.setAccessible(true);
    @SuppressWarnings("unchecked")
    var claims = (Map<String, RefCountedCacheId>) field.get(uploads);
    BlockManager blocks = SparkEnv.get().blockManager();
    claims.values().forEach(each -> each.release(blocks));
    claims.clear();
  }
}
