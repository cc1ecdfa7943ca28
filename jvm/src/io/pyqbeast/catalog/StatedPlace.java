package io.pyqbeast.catalog;

import java.net.URI;
import java.util.Objects;
import java.util.Set;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogUtils;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;

/**
 * The place that a statement names for a table. Spark leaves a relative one to the catalog, and its session catalog
 * takes it for one below the folder of the database. A log takes it for one below the working directory.
 */
public final class StatedPlace {
  private static final Set<String> S3 = Set.of("s3", "s3n");

  private StatedPlace() {}

  /**
   * Whether two locations are one. No store is asked: one without a scheme, or without a server, lies in the session's own
   * file system, and the older schemes of S3 name the same buckets.
   */
  public static boolean areSame(SparkSession session, URI one, URI other) {
    URI files = FileSystem.getDefaultUri(session.sessionState().newHadoopConf());
    URI first = files.resolve(one);
    URI second = files.resolve(other);
    return first.getPath().equals(second.getPath()) && storeOf(first, files).equalsIgnoreCase(storeOf(second, files));
  }

  private static String storeOf(URI place, URI files) {
    String scheme = S3.contains(place.getScheme()) ? "s3a" : place.getScheme();
    boolean isOwn = place.getAuthority() == null && place.getScheme().equals(files.getScheme());
    return scheme + "://" + Objects.toString(isOwn ? files.getAuthority() : place.getAuthority(), "");
  }

  /** The place in full where the statement names a relative one; else the text as it is. */
  public static String whole(SessionCatalog catalog, TableIdentifier table, String stated) {
    URI place = CatalogUtils.stringToURI(stated);
    if (place.isAbsolute() || new Path(place).isAbsolute()) {
      return stated;
    }
    String database = catalog.qualifyIdentifier(table).database().get();
    return CatalogUtils.URIToString(catalog.makeQualifiedTablePath(place, database));
  }
}
