/** A chart, drawn with uPlot, that fits its box and follows the colours of the page. */
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';

/** The colours of axes and lines, in the current theme of the page. */
export interface ChartColours {
  readonly text: string;
  readonly line: string;
  readonly ink: string;
  readonly accent: string;
}

interface Props {
  readonly label: string;
  readonly height: number;
  /** Returns the data, and the options without the size. If this prop gets a new function, the chart is drawn again. */
  readonly plan: (colours: ChartColours) => {
    readonly options: Omit<uPlot.Options, 'width' | 'height'>;
    readonly data: uPlot.AlignedData;
  };
}

export function Chart({ label, height, plan }: Props) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { current } = box;
    if (!current) return undefined;
    const draw = () => {
      const style = getComputedStyle(document.documentElement);
      const { options, data } = plan({
        text: style.getPropertyValue('--dim'),
        line: style.getPropertyValue('--line'),
        ink: style.getPropertyValue('--text'),
        accent: style.getPropertyValue('--accent'),
      });
      return new uPlot({ ...options, width: current.clientWidth, height }, data, current);
    };
    let chart = draw();
    const resized = new ResizeObserver(() => {
      chart.setSize({ width: current.clientWidth, height });
    });
    resized.observe(current);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const redraw = () => {
      chart.destroy();
      chart = draw();
    };
    dark.addEventListener('change', redraw);
    return () => {
      dark.removeEventListener('change', redraw);
      resized.disconnect();
      chart.destroy();
    };
  }, [plan, height]);
  return <div class="chart" ref={box} role="img" aria-label={label} />;
}

/** Returns the axes of a chart by day: the days below the chart, and the values beside it. */
export function dayAxes(
  { text, line }: ChartColours,
  days: readonly string[],
  format: (value: number) => string,
): uPlot.Axis[] {
  const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line } };
  return [
    {
      ...axis,
      grid: { show: false },
      values: (_, splits) => splits.map((at) => days[at]?.slice(5) ?? ''),
      incrs: [1, 2, 5, 7, 14, 30, 60],
    },
    { ...axis, size: 70, values: (_, splits) => splits.map(format) },
  ];
}
