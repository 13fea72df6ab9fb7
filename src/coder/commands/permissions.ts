/** /permissions: lists and removes the permissions that people have added with "Always allow". */
import { grantId, grantsIn, grantText, removeGrants } from '../approval/grants.ts';
import type { PolicyRule } from '../approval/rule.ts';
import { argument, CommandError, type CoderCommand, type CommandContext } from './command.ts';

export const permissionsCommand: CoderCommand = {
  name: 'permissions',
  description:
    'Lists what is always allowed in this session and in later ones. "remove ID" removes a permission.',
  arguments: [argument('remove ID', 'The id of the permission to remove.', false)],
  // The role `approve` is required even to see the list.
  changes: () => true,
  async *run(args, context) {
    const [action, ...ids] = args.split(/\s+/).filter((word) => word !== '');
    if (action === undefined) yield await listOf(context);
    else if (action !== 'remove' || ids.length === 0) {
      throw new CommandError('Use /permissions, or /permissions remove ID with an id of the list.');
    } else {
      for (const id of ids) yield `${await remove(id, context)}\n`;
    }
  },
};

async function listOf({ run, agent }: CommandContext): Promise<string> {
  const { own, others } = await agent.savedRules.list();
  const groups: [string, readonly PolicyRule[]][] = [
    ['In this session:', grantsIn(run.state)],
    ['Saved in your settings:', own],
    ["In the workspace's .parley/settings.json (edit this file to remove them):", others],
  ];
  const shown = groups
    .map(([title, rules]) => [title, rules.filter(({ decision }) => decision === 'allow')] as const)
    .filter(([, rules]) => rules.length > 0);
  if (shown.length === 0) {
    return 'There are no permissions. To add one, choose "Always allow" when the agent asks about a call.';
  }
  const lines = shown.flatMap(([title, rules]) =>
    [title].concat(rules.map((rule) => `  ${grantId(rule)}  ${grantText(rule)}`)),
  );
  // The list is a code block, because Markdown could hide a part of a pattern. No line can end the code block.
  return ['```', ...lines, '```', '`/permissions remove ID` removes a permission.'].join('\n');
}

async function remove(id: string, { run, agent }: CommandContext): Promise<string> {
  const saved = await agent.savedRules.remove(id);
  const removed = [...removeGrants(run.state, id), ...saved];
  const [rule] = removed;
  if (!rule) {
    throw new CommandError(`There is no permission ${id} to remove; /permissions lists them.`);
  }
  return `Removed: ${grantText(rule)}. The agent asks again.`;
}
