/** `parley trust`: sets or shows whether the settings, commands, helpers and skills in a workspace are used. */
import { existsSync } from 'node:fs';
import { workspaceSettingsFile, isTrusted, trust } from '../../coder/settings/index.ts';
import { workspaceFolder } from '../program/workspace-folder.ts';
import { configFolder } from '../program/folders.ts';
import { defineCommand } from '../program/command.ts';
import { EXIT } from '../program/exit.ts';
import { toggle } from '../program/flags.ts';
import { say } from '../program/terminal.ts';

export default defineCommand({
  operands: ['[DIR]'],
  about:
    "Trusts a workspace, by default the current folder. Parley then uses the workspace's .parley/settings.json, including policy rules, hooks and MCP servers, and its .parley/commands, .parley/helpers and .parley/skills. Folders inside it are not trusted automatically.",
  flags: {
    revoke: toggle('Stop trusting the workspace.'),
    show: toggle('Only show whether the workspace is trusted. The exit code is 1 if it is not.'),
  },
  examples: ['parley trust', 'parley trust ~/project --revoke'],

  async run({ values, operands: [dir = '.'], environment }) {
    const folder = await workspaceFolder(dir);
    const config = configFolder(environment);
    if (values.show) {
      const trusted = await isTrusted(config, folder);
      say(`${folder} is ${trusted ? '' : 'not '}trusted`);
      return trusted ? EXIT.done : EXIT.failed;
    }
    await trust(config, folder, !values.revoke);
    const file = workspaceSettingsFile(folder);
    const what = existsSync(file) ? `: ${file} is now in use` : '';
    say(values.revoke ? `${folder} is no longer trusted` : `${folder} is trusted${what}`);
    return EXIT.done;
  },
});
