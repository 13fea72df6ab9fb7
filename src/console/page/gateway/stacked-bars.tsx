/** A chart of stacked bars, one bar for each day. The table beside it has the same numbers. */
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { fillAt } from './looks.ts';
import type { ChartSeries } from './usage-data.ts';

const HEIGHT = 280;

interface Props {
  readonly days: readonly string[];
  readonly series: readonly ChartSeries[];
  readonly label: string;
  readonly format: (value: number) => string;
}

export function StackedBars({ days, series, label, format }: Props) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { current } = box;
    if (!current) return undefined;
    let chart = draw(current, days, series, format);
    const resized = new ResizeObserver(() => {
      chart.setSize({ width: current.clientWidth, height: HEIGHT });
    });
    resized.observe(current);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const redraw = () => {
      chart.destroy();
      chart = draw(current, days, series, format);
    };
    dark.addEventListener('change', redraw);
    return () => {
      dark.removeEventListener('change', redraw);
      resized.disconnect();
      chart.destroy();
    };
  }, [days, series, format]);
  return <div class="chart" ref={box} role="img" aria-label={label} />;
}

function draw(
  box: HTMLElement,
  days: readonly string[],
  series: readonly ChartSeries[],
  format: (value: number) => string,
): uPlot {
  const style = getComputedStyle(document.documentElement);
  const text = style.getPropertyValue('--dim');
  const line = style.getPropertyValue('--line');
  const paths = uPlot.paths.bars?.({ size: [0.75, 64] });
  // A bar reaches from zero to the sum of all series up to its own. So the highest sum is drawn first.
  const stacked = sums(days, series)
    .map((values, index) => ({ values, index }))
    .toReversed();
  const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line } };
  return new uPlot(
    {
      width: box.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false, range: [-0.6, days.length - 0.4] }, y: { range: rangeOf } },
      axes: [
        {
          ...axis,
          grid: { show: false },
          values: (_, splits) => splits.map((at) => days[at]?.slice(5) ?? ''),
          incrs: [1, 2, 5, 7, 14, 30, 60],
        },
        { ...axis, size: 70, values: (_, splits) => splits.map(format) },
      ],
      series: [
        {},
        ...stacked.map(({ index }) => ({
          fill: (chart: uPlot) => fillAt(index, chart.ctx),
          stroke: 'transparent',
          width: 0,
          points: { show: false },
          ...(paths && { paths }),
        })),
      ],
    },
    [days.map((_, at) => at), ...stacked.map(({ values }) => values)],
    box,
  );
}

function rangeOf(_: uPlot, _min: number, max: number): [number, number] {
  return [0, max > 0 ? max * 1.05 : 1];
}

function sums(days: readonly string[], series: readonly ChartSeries[]): number[][] {
  let below = days.map(() => 0);
  return series.map(({ values }) => (below = below.map((sum, at) => sum + (values[at] ?? 0))));
}
