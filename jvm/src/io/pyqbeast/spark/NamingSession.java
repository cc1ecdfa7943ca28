package io.pyqbeast.spark;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import scala.runtime.BoxedUnit;

/** The session in which a text inside the query that is being analyzed finds its tables. */
public final class NamingSession {
  private NamingSession() {}

  /**
   * The session itself. Amid the text of a view it is a copy that finds what the view's own names mean to Spark: its catalog
   * and database are those in which the view was made, whatever is current where it is read, and a view that the catalog
   * keeps sees no temporary ones.
   *
   * @param text where the text stands
   */
  public static SparkSession of(SparkSession session, Expression text) {
    List<String> ofView = ScalaInterop.list(AnalysisContext$.MODULE$.get().catalogAndNamespace());
    boolean isKept = isInKeptView(session, text.origin());
    if (ofView.isEmpty() || !isKept && ofView.equals(current(session))) {
      return session;
    }
    SparkSession copy = SessionCopy.of(session).session();
    if (isKept) {
      copy.sessionState().catalog().clearTempTables();
    }
    CatalogManager names = copy.sessionState().catalogManager();
    names.setCurrentCatalog(ofView.get(0));
    List<String> database = ofView.subList(1, ofView.size());
    if (ofView.get(0).equals(CatalogManager.SESSION_CATALOG_NAME()) && database.size() == 1) {
      // A database that has gone has no tables, while full names and those of temporary views mean what they did.
      copy.sessionState()
          .catalog()
          .setCurrentDatabaseWithNameCheck(database.get(0), ScalaInterop.function(each -> BoxedUnit.UNIT));
    } else {
      names.setCurrentNamespace(database.toArray(String[]::new));
    }
    return copy;
  }

  /** Whether a text stands in a view that is no temporary one. Those have no database in their names. */
  private static boolean isInKeptView(SparkSession session, Origin origin) {
    return origin.objectType().contains("VIEW")
        && origin.objectName().exists(
            ScalaInterop.function(name -> session.sessionState().catalog().getRawTempView(name).isEmpty()));
  }

  private static List<String> current(SparkSession session) {
    CatalogManager names = session.sessionState().catalogManager();
    return LogicalPlans.together(List.of(names.currentCatalog().name()), Arrays.asList(names.currentNamespace()));
  }
}
