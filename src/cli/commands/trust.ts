/** `parley trust`: which workspaces may bring settings of their own. */
import { existsSync } from 'node:fs';
import { configFolder } from '../../coder/index.ts';
import {
  SettingsError,
  workspaceSettingsFile,
  isTrusted,
  trust,
} from '../../coder/settings/index.ts';
import { workspaceFolder } from '../program/workspace-folder.ts';
import { defineCommand } from '../program/command.ts';
import { EXIT, usageError } from '../program/exit.ts';
import { say } from '../program/terminal.ts';

export default defineCommand({
  name: 'trust',
  operands: ['[DIR]'],
  about:
    'Trusts a workspace, the current folder by default: its .parley/settings.json counts from now on, with the rules and MCP servers in it, and so do its .parley/commands. Folders inside it have to be trusted on their own.',
  flags: {
    revoke: { type: 'boolean', help: 'Trust it no longer.' },
    show: { type: 'boolean', help: 'Only say whether it is trusted; exit code 1 when it is not.' },
  },
  examples: ['parley trust', 'parley trust ~/project --revoke'],

  async run({ values, operands: [dir = '.'], environment }) {
    const folder = await workspaceFolder(dir);
    const config = configFolder(environment);
    try {
      if (values.show) {
        const trusted = await isTrusted(config, folder);
        say(`${folder} is ${trusted ? '' : 'not '}trusted`);
        return trusted ? EXIT.done : EXIT.failed;
      }
      await trust(config, folder, !values.revoke);
    } catch (error) {
      if (error instanceof SettingsError) throw usageError(error.message, { cause: error });
      throw error;
    }
    const file = workspaceSettingsFile(folder);
    const what = existsSync(file) ? `: ${file} counts from now on` : '';
    say(values.revoke ? `${folder} is not trusted any more` : `${folder} is trusted${what}`);
    return EXIT.done;
  },
});
