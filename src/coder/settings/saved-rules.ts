/** The rules of the settings that apply to a workspace while its agent runs. Rules can be saved and removed. */
import { grantId } from '../approval/grants.ts';
import type { PolicyRule } from '../approval/rule.ts';
import { removeRules, saveRule, userRules } from './settings.ts';

export interface SavedRulesOptions {
  readonly configFolder: string;
  /** The root of the workspace. */
  readonly root: string;
  /** The rules of the settings when the agent was opened. */
  readonly rules: readonly PolicyRule[];
  /** How many of these rules are the user's. The user's rules come before the workspace's rules. */
  readonly userRules: number;
  readonly changes: RuleChanges;
  /** The number of rules in `changes.saved` that were saved before the settings were read. `rules` contains them. */
  readonly known: number;
}

/** The changes of the user's rules since the process started. All agents of the process share them. */
export interface RuleChanges {
  /** The rules that were saved, oldest first. */
  readonly saved: PolicyRule[];
  /** The rules that were removed, as JSON. */
  readonly removed: Set<string>;
}

export function openSavedRules(options: SavedRulesOptions) {
  const { configFolder, root, rules, userRules: count, known } = options;
  const { saved, removed } = options.changes;
  const remaining = (list: readonly PolicyRule[]) =>
    list.filter((rule) => !removed.has(JSON.stringify(rule)));
  /**
   * A newly saved rule is between the user's earlier rules and the workspace's rules, as it would be after a restart.
   */
  const current = () =>
    remaining([...rules.slice(0, count), ...saved.slice(known), ...rules.slice(count)]);
  const isHere = ({ workspace }: PolicyRule) => workspace === undefined || workspace === root;
  return {
    /** Returns the rules in force. */
    current,
    /** Saves a rule in the user's settings for later sessions, in this process and in others. */
    async save(rule: PolicyRule): Promise<void> {
      await saveRule(configFolder, rule);
      removed.delete(JSON.stringify(rule));
      saved.push(rule);
    },
    /**
     * Returns the rules that apply to this workspace: `own` from the user's settings, and `others` from the workspace's
     * settings.
     */
    async list() {
      const own = (await userRules(configFolder)).filter(isHere);
      const texts = new Set(own.map((rule) => JSON.stringify(rule)));
      const others = remaining(rules.slice(count)).filter(
        (rule) => isHere(rule) && !texts.has(JSON.stringify(rule)),
      );
      return { own, others };
    },
    /**
     * Removes the rules with this id (`grantId`) from the user's settings, if they allow something and apply to this
     * workspace. Returns the removed rules.
     */
    async remove(id: string): Promise<readonly PolicyRule[]> {
      const found = await removeRules(
        configFolder,
        (rule) => rule.decision === 'allow' && isHere(rule) && grantId(rule) === id,
      );
      for (const rule of found) removed.add(JSON.stringify(rule));
      return found;
    },
  };
}
