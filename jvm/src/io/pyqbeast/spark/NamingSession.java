package io.pyqbeast.spark;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;

/** The session in which a text inside the query that is being analyzed finds its tables. */
public final class NamingSession {
  private NamingSession() {}

  /**
   * The session itself. Amid the text of a view it is a copy, whose catalog and database are those in which the view was
   * made: Spark looks up the view's own names there, whatever is current where it is read.
   */
  public static SparkSession of(SparkSession session) {
    List<String> ofView = ScalaInterop.list(AnalysisContext$.MODULE$.get().catalogAndNamespace());
    CatalogManager current = session.sessionState().catalogManager();
    if (ofView.isEmpty() || ofView.equals(catalogAndNamespace(current))) {
      return session;
    }
    SparkSession copy = SessionCopy.of(session).session();
    CatalogManager names = copy.sessionState().catalogManager();
    names.setCurrentCatalog(ofView.get(0));
    names.setCurrentNamespace(ofView.subList(1, ofView.size()).toArray(String[]::new));
    return copy;
  }

  private static List<String> catalogAndNamespace(CatalogManager names) {
    return LogicalPlans.together(List.of(names.currentCatalog().name()), Arrays.asList(names.currentNamespace()));
  }
}
