package io.pyqbeast.index;

import com.fasterxml.jackson.databind.JsonNode;
import io.pyqbeast.format.Constants;
import io.pyqbeast.format.HashedColumns;
import io.pyqbeast.format.HashedLayout;
import io.pyqbeast.format.HashedTypes;
import io.pyqbeast.format.StoredRevision;
import io.pyqbeast.spark.ScalaInterop;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.delta.NoMapping$;
import org.apache.spark.sql.delta.TypeChange;
import org.apache.spark.sql.delta.TypeWideningMetadata;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructField;
import scala.Option;

/**
 * The revisions whose blocks tell the weights that their rows have today. A weight is a hash of columns. The same
 * rows hash otherwise once a column has another type, or once its name belongs to another column. Samples must not
 * skip files of revisions to which that has happened.
 *
 * <p>Revisions of pyqbeast record what was hashed: {@code HashedLayout}. Other revisions, of other writers and of
 * early versions, record only names and the format's types. That is enough if nothing else can have changed unseen:
 * for columns of plain types, in a table that never maps names.
 */
public final class PrunableRevisions {
  private PrunableRevisions() {}

  /** Their ids, as the tags of files have them. */
  public static Set<String> of(Metadata table) {
    List<String> columns = HashedColumns.of(table).all();
    HashedLayout today = HashedLayout.of(columns, table);
    Set<String> found = new HashSet<>();
    if (today == null) {
      return found;
    }
    ScalaInterop.map(table.configuration())
        .forEach(
            (key, text) -> {
              if (key.startsWith(Constants.REVISION_PREFIX)
                  && isPrunable(StoredRevision.read(key, text), columns, today, table)) {
                found.add(key.substring(Constants.REVISION_PREFIX.length()));
              }
            });
    return found;
  }

  private static boolean isPrunable(JsonNode revision, List<String> columns, HashedLayout today, Metadata table) {
    if (columns.isEmpty() || revision.isMissingNode()) {
      return false; // nothing is known of its files
    }
    return revision.has(Constants.HASHED_AS)
        ? today.isSameAs(revision.path(Constants.HASHED_AS))
        : table.columnMappingMode() == NoMapping$.MODULE$ && areAsBefore(revision, columns, table);
  }

  private static boolean areAsBefore(JsonNode revision, List<String> columns, Metadata table) {
    if (!HashedColumns.namedToday(HashedColumns.of(revision).all(), table).equals(columns)) {
      return false;
    }
    for (int i = 0; i < columns.size(); i++) {
      JsonNode transformer = revision.path("columnTransformers").path(i);
      if (!hashesAsBefore(transformer, table.schema().apply(columns.get(i)))) {
        return false;
      }
    }
    return true;
  }

  /** @param transformer of an indexed column; a missing node for a weight column, whose type no revision tells */
  private static boolean hashesAsBefore(JsonNode transformer, StructField field) {
    Option<TypeWideningMetadata> widened = TypeWideningMetadata.fromField(field);
    if (transformer.isMissingNode()) {
      // Fields of structs come and go, and move, without a trace.
      return widened.isEmpty() && field.dataType() instanceof AtomicType;
    }
    if (!StoredRevision.typeOf(transformer).equals(HashedTypes.formatType(field.dataType()))) {
      return false;
    }
    return widened.isEmpty()
        || ScalaInterop.list(widened.get().typeChanges()).stream().allMatch(PrunableRevisions::keepsHashesOfDecimals);
  }

  /** The format has one name for all decimals, so their revisions do not tell from which of them a column came. */
  private static boolean keepsHashesOfDecimals(TypeChange change) {
    return !(change.fromType() instanceof DecimalType) || HashedLayout.hashAlike(change.fromType(), change.toType());
  }
}
