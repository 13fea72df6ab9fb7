/** The pages of answer-links.ts: small HTML without script. All text of the agent and its tools is escaped. */
import { createHash } from 'node:crypto';
import type { RouteReply } from '../http/index.ts';
import {
  callDetails,
  detailText,
  OPTION,
  type FileDiff,
  type ToolCall,
} from '../protocol/development-tool/index.ts';
import { isBinary, leavesOut } from '../protocol/schema-free/index.ts';
import { reveal } from '../base/index.ts';

/** Maximum length of the shown details, in characters. A call with longer details can only be rejected. */
const MAX_CHARS = 64 * 1024;

const STYLE = `:root{color-scheme:light dark}
body{font:1rem/1.5 system-ui,sans-serif;max-width:50rem;margin:0 auto;padding:1rem}
pre{overflow:auto;max-height:60vh;padding:.75rem;border:1px solid;border-radius:.5rem}
form{display:inline-block;margin:0 .5rem .5rem 0}
button{font:inherit;padding:.75rem 1.5rem;border-radius:.5rem;border:1px solid}`;

const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; script-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'cache-control': 'no-store',
  // The path is a secret, so other origins must not receive it as the referrer. `no-referrer` is not used, because then
  // browsers would send the origin "null" with the form, and the server refuses this origin.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex',
};

export interface Button {
  readonly id: string;
  readonly name: string;
  readonly action: string;
}

/** Returns the page that shows a call, with a button for each option. */
export function callPage(call: ToolCall, buttons: readonly Button[]): RouteReply {
  const details = callDetails(call);
  const text = detailText(details);
  const folder = details.find((detail) => detail.kind === 'command')?.folder;
  const isWhole =
    text.length <= MAX_CHARS &&
    !leavesOut(text) &&
    details.every((each) => each.kind !== 'change' || hasText(each.diff));
  // A call that is not shown completely can only be rejected.
  const offered = buttons.filter(({ id }) => isWhole || id === OPTION.cancel);
  const title = reveal(call.description ?? call.tool_name).slice(0, 500);
  return page(200, title, [
    folder === undefined ? '' : `<p>in ${escaped(reveal(folder))}</p>`,
    `<pre tabindex="0">${escaped(text.slice(0, MAX_CHARS))}</pre>`,
    isWhole ? '' : '<p>This page cannot show the whole call. To allow it, join the session.</p>',
    ...offered.map(
      ({ name, action }) =>
        `<form method="post" action="${escaped(action)}"><button>${escaped(reveal(name))}</button></form>`,
    ),
  ]);
}

/** Returns whether the change is shown as a diff of texts. The diff of a binary file shows only its kind and size. */
function hasText({ formatted_diff, new_content }: FileDiff): boolean {
  return formatted_diff !== undefined && !isBinary(new_content);
}

/** Returns a page with one sentence. */
export function messagePage(status: number, text: string): RouteReply {
  return page(status, text, []);
}

function page(status: number, title: string, content: readonly string[]): RouteReply {
  const text = [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    `<title>Parley</title><style>${STYLE}</style></head><body>`,
    `<h1>${escaped(title)}</h1>`,
    ...content,
    '</body></html>',
  ];
  return { status, headers: HEADERS, text: text.join('\n') };
}

function escaped(text: string): string {
  const names: Record<string, string> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  };
  return text.replaceAll(/[&<>"']/g, (each) => names[each] ?? each);
}
