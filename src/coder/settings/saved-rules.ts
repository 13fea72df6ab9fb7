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
  /** The removed rules, as JSON. All agents of the process share this set, because a removed rule ends for all of them. */
  readonly removed: Set<string>;
}

export function openSavedRules(options: SavedRulesOptions) {
  const { configFolder, root, rules, removed } = options;
  const current = () => rules.filter((rule) => !removed.has(JSON.stringify(rule)));
  const isHere = ({ workspace }: PolicyRule) => workspace === undefined || workspace === root;
  return {
    /** Returns the rules in force. */
    current,
    /** Saves a rule in the user's settings for later sessions. */
    async save(rule: PolicyRule): Promise<void> {
      removed.delete(JSON.stringify(rule));
      await saveRule(configFolder, rule);
    },
    /** Returns the rules that apply to this workspace: `own` from the user's settings, `others` from the workspace's. */
    async list() {
      const own = (await userRules(configFolder)).filter(isHere);
      const known = new Set(own.map((rule) => JSON.stringify(rule)));
      const others = current().filter((rule) => isHere(rule) && !known.has(JSON.stringify(rule)));
      return { own, others };
    },
    /** Removes the rules that allow something and have this id from the user's settings. Returns the removed rules. */
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
