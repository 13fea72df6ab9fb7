import { spawn } from 'node:child_process';
import { browserCommand } from '../../base/system/index.ts';

/** Opens the URL in the default browser, if there is one. No shell is used, because the URL may come from a server. */
export function openBrowser({ href }: URL): void {
  const [command, ...args] = browserCommand(href);
  const browser = spawn(command, args, { stdio: 'ignore', detached: true });
  // The person can open the printed URL instead.
  browser.once('error', () => {});
  browser.unref();
}
