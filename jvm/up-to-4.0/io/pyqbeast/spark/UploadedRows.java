package io.pyqbeast.spark;

import org.apache.spark.SparkEnv;
import org.apache.spark.sql.artifact.ArtifactManager;
import org.apache.spark.storage.CacheId;

/**
 * Rows that a client of Spark Connect has uploaded. Up to Spark 4.0 a copy of a session has copies of them.
 */
final class UploadedRows {
  private UploadedRows() {}

  /** Gives back those of a session. Plans hold the rows that they are about. */
  static void giveBack(ArtifactManager uploads) {
    for (CacheId each : uploads.cachedBlockIdList()) {
      SparkEnv.get().blockManager().removeBlock(each, true);
    }
    uploads.cachedBlockIdList().clear();
  }
}
