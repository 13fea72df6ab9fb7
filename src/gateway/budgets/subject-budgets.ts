/** Lists the budgets of the JWT subjects of a workspace. The budgets are in the configuration. */
import type { PageQuery } from '../api/fields.ts';
import { type Register, statement } from '../register/register.ts';
import type { Budget } from './budget.ts';
import { type BudgetsConfig, budgetOfSubject, hasBudgetOfOthers, namedSubjects } from './config.ts';

/**
 * The subjects that have used something, at most `$count`. Each step of the recursion finds the next subject with one
 * search in the index, however many rows a subject has. `$count` may be any safe integer. Without the cast, PostgreSQL
 * would read it as a number of 32 bits.
 */
const SEEN = statement(`
  WITH RECURSIVE seen (subject, number) AS (
    SELECT (SELECT min(subject) FROM spending WHERE workspace = $workspace AND subject <> ''), 1
    UNION ALL
    SELECT (SELECT min(spending.subject) FROM spending
            WHERE workspace = $workspace AND spending.subject <> '' AND spending.subject > seen.subject), number + 1
    FROM seen WHERE seen.subject IS NOT NULL AND number < CAST($count AS BIGINT)
  )
  SELECT subject FROM seen WHERE subject IS NOT NULL ORDER BY number`);

export interface SubjectBudget {
  readonly subject: string;
  readonly budget: Budget;
}

/**
 * Returns one page of subjects and their budgets. The subjects that the configuration names come first. If there is a
 * budget for all other subjects (`WORKSPACE/*` or `*`), the other subjects that have used something follow.
 */
export async function listSubjectBudgets(
  register: Register,
  config: BudgetsConfig,
  workspace: string,
  { limit, offset }: PageQuery,
): Promise<readonly SubjectBudget[]> {
  if (!config.subjects) return [];
  const named = namedSubjects(config, workspace);
  const subjects = named.slice(offset, offset + limit);
  const missing = limit - subjects.length;
  if (missing > 0 && hasBudgetOfOthers(config, workspace)) {
    const skipped = Math.max(0, offset - named.length);
    const known = new Set(named);
    // The filter below removes the named subjects that have used something. So as many additional rows are read as
    // there are named subjects.
    const count = named.length + skipped + missing;
    const seen = await register.read(function* () {
      const rows = yield* SEEN.all({ workspace, count });
      return rows.map(({ subject }) => String(subject)).filter((subject) => !known.has(subject));
    });
    subjects.push(...seen.slice(skipped, skipped + missing));
  }
  return subjects.flatMap((subject) => {
    const budget = budgetOfSubject(config, workspace, subject);
    return budget ? [{ subject, budget }] : [];
  });
}
