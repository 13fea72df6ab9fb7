/** The licences of the packages whose code a published package contains. */
import * as fs from 'node:fs';
import path from 'node:path';
import type { Metafile } from 'esbuild';

const FILE = 'THIRD-PARTY-NOTICES.md';
const APACHE =
  'Licensed under the Apache License, Version 2.0: the same text as the file LICENSE of this package.';
/** The texts for packages that name their licence only in package.json. */
const STANDARD_TEXT: Readonly<Record<string, string>> = {
  MIT: `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions: The above copyright notice and
this permission notice shall be included in all copies or substantial portions of the Software. THE SOFTWARE IS PROVIDED
"AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT
HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE,
ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`,
  'Apache-2.0': APACHE,
  // @bufbuild/protobuf. BSD-3-Clause is for the code that it took from Protocol Buffers.
  '(Apache-2.0 AND BSD-3-Clause)': `${APACHE}

Copyright 2008 Google Inc. All rights reserved.

Redistribution and use in source and binary forms, with or without modification, are permitted provided that the
following conditions are met:
- Redistributions of source code must retain the above copyright notice, this list of conditions and the following
  disclaimer.
- Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following
  disclaimer in the documentation and/or other materials provided with the distribution.
- Neither the name of Google Inc. nor the names of its contributors may be used to endorse or promote products derived
  from this software without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES,
INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT OWNER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL,
SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR
SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY,
WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF
THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.`,
};

/** Writes the notices of every package that the bundles contain. */
export function writeNotices(folder: string, bundles: readonly Metafile[]): void {
  const packages = new Map<string, string>();
  for (const { outputs } of bundles) {
    for (const output of Object.values(outputs)) {
      for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
        const at = /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
        if (at?.[1] && bytesInOutput > 0) packages.set(at[1], at[0]);
      }
    }
  }
  const sections = [...packages]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, at]) => sectionOf(name, at));
  const head = '# Third-party notices\n\nThis package contains code of the following packages.\n';
  fs.writeFileSync(path.join(folder, FILE), [head, ...sections].join('\n'));
}

function sectionOf(name: string, folder: string): string {
  const { version, license } = JSON.parse(
    fs.readFileSync(path.join(folder, 'package.json'), 'utf8'),
  ) as { version: string; license?: string };
  const file = fs.readdirSync(folder).find((each) => /^licen[cs]e(\.(md|txt))?$/i.test(each));
  const text =
    file === undefined
      ? STANDARD_TEXT[license ?? '']
      : fs.readFileSync(path.join(folder, file), 'utf8').trim();
  if (text === undefined)
    throw new Error(`the text of the licence of ${name} is missing (${license})`);
  return `## ${name} ${version} (${license})\n\n\`\`\`text\n${text}\n\`\`\`\n`;
}
