/** Chromium with the page, and what a test has to know of it. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import type { TestContext } from 'node:test';
import axe from 'axe-core';
import {
  chromium,
  devices,
  type Browser,
  type BrowserContextOptions,
  type Locator,
  type Page,
} from 'playwright-core';

const CHROMIUM =
  process.env['PARLEY_CHROMIUM'] ??
  ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((file) => existsSync(file));

/** The reason to skip a test of the page, or false. */
export const noBrowser =
  CHROMIUM === undefined
    ? 'Chromium is missing: install it (apt-get install chromium), or set PARLEY_CHROMIUM to its path'
    : false;

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const PHONE: BrowserContextOptions = {
  ...devices['Pixel 7'],
  viewport: { width: 390, height: 844 },
};
export const DESKTOP: BrowserContextOptions = { viewport: { width: 1440, height: 900 } };

let launched: Promise<Browser> | undefined;

/** One browser for all tests of a file. */
export async function browserFor(t: Pick<TestContext, 'after'>): Promise<Browser> {
  launched ??= chromium.launch({ executablePath: CHROMIUM!, args: ARGS });
  const browser = await launched;
  t.after(async () => {
    launched = undefined;
    await browser.close();
  });
  return browser;
}

export interface Visit {
  readonly page: Page;
  /** What must not happen: errors, dialogs, messages on the console, violations of the policy, requests elsewhere. */
  readonly trouble: string[];
}

/** Opens a page in a context of its own, and writes down what must not happen there. */
export async function visit(
  t: TestContext,
  url: string,
  options: BrowserContextOptions = PHONE,
): Promise<Visit> {
  const browser = await browserFor(t);
  const context = await browser.newContext(options);
  t.after(() => context.close());
  const page = await context.newPage();
  const trouble: string[] = [];
  page.on('pageerror', (error) => trouble.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    trouble.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    const text = message.text();
    // The browser itself reports each failed connection attempt.
    if (/WebSocket connection to|ERR_CONNECTION|ERR_INTERNET|401 \(Unauthorized\)/.test(text))
      return;
    trouble.push(`console: ${text}`);
  });
  const { origin } = new URL(url);
  page.on('request', (request) => {
    const at = new URL(request.url());
    if (at.origin !== origin) trouble.push(`request: ${request.url()}`);
  });
  await page.addInitScript(
    `document.addEventListener('securitypolicyviolation', (event) =>
      console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI));`,
  );
  await page.goto(url);
  return { page, trouble };
}

/** Presses Tab until the focused element has this text or label. */
export async function tabTo(page: Page, text: string): Promise<void> {
  const focused = `(() => {
    const at = document.activeElement;
    return [at.textContent, at.getAttribute('aria-label'), at.labels?.[0]?.textContent];
  })()`;
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab');
    const found = (await page.evaluate(focused)) as (string | null | undefined)[];
    if (found.includes(text)) return;
  }
  assert.fail(`${text} has no place in the order of the Tab key`);
}

/** Waits until there are so many of these elements. */
export async function thereAre(found: Locator, count: number): Promise<void> {
  if (count > 0) await found.nth(count - 1).waitFor({ state: 'attached' });
  await found.nth(count).waitFor({ state: 'detached' });
}

/** Fails if axe finds a serious problem on the page. */
export async function assertAccessible(page: Page, what: string): Promise<void> {
  await page.evaluate(axe.source);
  const found = (await page.evaluate('axe.run()')) as {
    violations: { id: string; impact: string; nodes: { html: string }[] }[];
  };
  const bad = found.violations.filter(
    ({ impact }) => impact === 'serious' || impact === 'critical',
  );
  assert.deepEqual(
    bad.map(({ id, nodes }) => `${what}: ${id}: ${nodes.map(({ html }) => html).join(' ')}`),
    [],
  );
}
