/** The main screen: the history, the frame below it, and the keyboard input. */
import {
  Box,
  useAnimation,
  useApp,
  useCursor,
  useInput,
  usePaste,
  useStdout,
  useWindowSize,
} from 'ink';
import { useEffect, useState, useSyncExternalStore } from 'react';
import type { Controller } from '../control/controller.ts';
import { keysOf, type KeyPress } from '../input/keys.ts';
import type { TuiOptions } from '../control/options.ts';
import type { Theme } from '../text/theme.ts';
import { MIN_WIDTH, type View } from '../view/view.ts';
import { frame } from '../view/frame.ts';
import { History } from './history.tsx';
import { Lines } from './lines.tsx';

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const SPINNER_MS = 120;
/** After a resize, the screen is drawn again when the size has stayed the same for this time. */
const RESIZED_MS = 60;

export interface AppScreenProps {
  readonly controller: Controller;
  readonly theme: Theme;
  readonly options: Pick<TuiOptions, 'a2aPort' | 'attachedTo'>;
  /** Clears the screen, and forgets the drawn frame. */
  readonly clear?: (() => void) | undefined;
}

export function AppScreen({ controller, theme, options, clear }: AppScreenProps) {
  const ui = useSyncExternalStore(
    (listener) => controller.subscribe(listener),
    () => controller.ui,
  );
  const { columns, rows } = useWindowSize();
  const renderers = useRenderers();
  const { frame: tick } = useAnimation({
    interval: SPINNER_MS,
    isActive: ui.busySince !== undefined || ui.command !== undefined,
  });
  useKeys(controller);
  useRedraw(controller, clear);

  const width = Math.max(MIN_WIDTH, columns);
  const { self } = controller.session;
  const spinner = SPINNER[tick % SPINNER.length] ?? '';
  const { lines, cursor, scroll, dialog } = frame({
    ui,
    self,
    width,
    height: rows,
    spinner,
    now: Date.now(),
    renderers,
    // This is read for each frame, because the port may become known later.
    a2aPort: options.a2aPort,
    attachedTo: options.attachedTo,
  });
  const { setCursorPosition } = useCursor();
  setCursorPosition(cursor);
  useEffect(() => {
    controller.drew({ scroll, dialog });
  }, [controller, scroll, dialog, ui]);

  return (
    <Box flexDirection="column">
      {renderers && ui.state.place && (
        <History
          key={ui.drawing}
          redrawn={ui.drawing > 0}
          entries={ui.state.log.finished}
          workspace={ui.state.place.workspace}
          view={{
            width,
            height: rows,
            renderers,
            self,
            clients: ui.state.clients,
            plain: false,
            spinner,
          }}
          theme={theme}
        />
      )}
      <Lines lines={lines} theme={theme} />
    </Box>
  );
}

/**
 * Clears the screen whenever the history is printed again, for example on Ctrl-L. Prints the history again after the
 * terminal was resized. Without this, a terminal that becomes narrower would wrap the lines of the drawn frame, and
 * parts of them would stay on the screen.
 */
function useRedraw(controller: Controller, clear: (() => void) | undefined): void {
  const { stdout } = useStdout();
  useEffect(() => {
    if (clear) controller.useClear(clear);
    let timer: NodeJS.Timeout | undefined;
    const resized = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => controller.redraw(), RESIZED_MS);
    };
    stdout.on('resize', resized);
    return () => {
      clearTimeout(timer);
      stdout.off('resize', resized);
    };
  }, [controller, stdout, clear]);
}

/** Loads the renderers after the first frame, which does not need them. */
function useRenderers(): View['renderers'] | undefined {
  const [renderers, setRenderers] = useState<View['renderers']>();
  useEffect(() => {
    void import('../view/renderers.ts').then((loaded) => setRenderers(loaded));
  }, []);
  return renderers;
}

function useKeys(controller: Controller): void {
  const { suspendTerminal } = useApp();
  const [together] = useState(() => new KeysTogether(controller));
  useInput((input, key) => {
    if (!controller.alerts.isReport(input)) together.add(keysOf(input, key));
  });
  usePaste((text) => {
    together.flush(true);
    controller.paste(text);
  });
  useEffect(() => {
    controller.useTerminal((run) => suspendTerminal(run));
    // The alerts may listen to the input only after Ink has started to read it.
    controller.alerts.start();
  }, [controller, suspendTerminal]);
}

/**
 * Passes the keys that arrive together to the controller in one call. Ink splits the input from the terminal, for
 * example at the escape sequence of an arrow key, and reports each piece in its own input event.
 */
class KeysTogether {
  readonly #controller: Controller;
  #keys: KeyPress[] = [];

  constructor(controller: Controller) {
    this.#controller = controller;
  }

  add(keys: readonly KeyPress[]): void {
    // Ink reports all pieces synchronously, so a microtask runs after the last piece.
    if (this.#keys.length === 0) queueMicrotask(() => this.flush());
    this.#keys.push(...keys);
  }

  /** `isBeforePaste`: a pasted text arrived together with the keys and follows them. */
  flush(isBeforePaste = false): void {
    const keys = this.#keys;
    this.#keys = [];
    if (keys.length > 0) this.#controller.keys(keys, isBeforePaste);
  }
}
