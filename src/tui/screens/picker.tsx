/** The screen on which a person chooses the session to resume. */
import { render, useApp, useInput, useWindowSize } from 'ink';
import { useEffect, useRef, useState } from 'react';
import { keysOf } from '../input/keys.ts';
import { pickerKey, selectedItem, type Picker, type PickerItem } from '../input/picker.ts';
import type { TuiOptions } from '../control/options.ts';
import { themeFor, type Theme } from '../text/theme.ts';
import { wrap } from '../text/styled-line.ts';
import { pickerLines } from '../view/picker-lines.ts';
import type { StyledLine } from '../../display/index.ts';
import { MIN_WIDTH } from '../view/view.ts';
import { Lines } from './lines.tsx';

/** A session to resume, with the end of its conversation. */
export interface ResumableSession extends PickerItem {
  readonly preview: readonly StyledLine[];
}

export interface PickerScreenProps {
  readonly items: readonly ResumableSession[];
  readonly theme: Theme;
  readonly onPick: (id: string | undefined) => void;
}

const KEYS = '↑↓ Enter · type to search · Esc starts a new one';

export function PickerScreen({ items, theme, onPick }: PickerScreenProps) {
  const { exit } = useApp();
  const { columns, rows } = useWindowSize();
  // Several keys can arrive between two frames, so they act on this value and not on the drawn state.
  const current = useRef<Picker>({ items, query: '', selected: 0, title: 'Resume a session' });
  const [picker, setPicker] = useState<Picker | undefined>(current.current);
  // Draws an empty frame before exiting, so that the list disappears from the screen.
  useEffect(() => {
    if (!picker) exit();
  }, [picker, exit]);
  useInput((input, key) => {
    for (const each of keysOf(input, key)) {
      const step = pickerKey(current.current, each);
      if ('picked' in step) {
        onPick(step.picked);
        setPicker(undefined);
        return;
      }
      current.current = step.picker;
    }
    setPicker(current.current);
  });
  if (!picker) return <Lines lines={[]} theme={theme} />;
  const { id = '' } = selectedItem(picker) ?? {};
  const said = items.find((item) => item.id === id)?.preview ?? [];
  const width = Math.max(MIN_WIDTH, columns);
  const preview = { id, lines: said.flatMap((each) => wrap(each, width - 4)) };
  // One row stays unused, because a frame as tall as the terminal would scroll.
  const room = { width, maxRows: rows - 1, keys: KEYS, none: 'No matching session.' };
  return <Lines lines={pickerLines({ ...picker, preview }, room)} theme={theme} />;
}

/** Lets the person choose a session. Returns its id, or undefined to start a new session. */
export async function pickSession(
  items: readonly ResumableSession[],
  options: Pick<TuiOptions, 'theme' | 'stdin' | 'stdout' | 'environment'> = {},
): Promise<string | undefined> {
  const { stdin = process.stdin, stdout = process.stdout, environment = process.env } = options;
  let picked: string | undefined;
  const theme = themeFor(options.theme, environment);
  const screen = render(
    <PickerScreen items={items} theme={theme} onPick={(id) => (picked = id)} />,
    { stdin, stdout, exitOnCtrlC: false, interactive: true },
  );
  await screen.waitUntilExit();
  return picked;
}
