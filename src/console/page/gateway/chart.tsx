/** Draws charts with uPlot. A chart is as wide as its box and has the colours of the page. */
import uPlot from 'uplot';
import { useEffect, useRef, useMemo } from 'preact/hooks';
import type { ChartSeries } from './usage-data.ts';

/** The colours of axes and lines, in the current theme of the page. */
export interface ChartColours {
  readonly text: string;
  readonly line: string;
  readonly ink: string;
  readonly accent: string;
}

interface ChartProps {
  readonly label: string;
  readonly height: number;
  /** Returns the content of the chart. When this prop changes, the chart is drawn again. */
  readonly plan: (colours: ChartColours) => ChartPlan;
}

export interface ChartPlan {
  readonly days: readonly string[];
  /** The range of the horizontal axis. The position of a day on this axis is its index in `days`. */
  readonly x: uPlot.Range.MinMax;
  readonly y: uPlot.Range.MinMax | uPlot.Range.Function;
  readonly format: (value: number) => string;
  /** The series, each with one value for each day. */
  readonly series: readonly {
    readonly values: readonly (number | null)[];
    readonly look: uPlot.Series;
  }[];
}

export function Chart({ label, height, plan }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { current } = box;
    if (!current) return undefined;
    const draw = () => {
      const style = getComputedStyle(document.documentElement);
      const colours = {
        text: style.getPropertyValue('--dim'),
        line: style.getPropertyValue('--line'),
        ink: style.getPropertyValue('--text'),
        accent: style.getPropertyValue('--accent'),
      };
      const { days, x, y, format, series } = plan(colours);
      const options: uPlot.Options = {
        width: current.clientWidth,
        height,
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false, range: x }, y: { range: y } },
        axes: dayAxes(colours, days, format),
        series: [{}, ...series.map(({ look }) => look)],
      };
      const data = [days.map((_, at) => at), ...series.map(({ values }) => values)];
      return new uPlot(options, data as uPlot.AlignedData, current);
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
function dayAxes(
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

/**
 * The colours of the series of a chart. Each colour has its own pattern, so that people can tell the series apart
 * without colours and on any background. The first six colours are from the palette of Okabe and Ito. People with the
 * usual kinds of colour blindness can tell the colours of this palette apart. Its yellow and black are replaced,
 * because these two would not be visible on every background.
 */
const COLOURS = [
  '#0072b2',
  '#e69f00',
  '#009e73',
  '#cc79a7',
  '#56b4e9',
  '#d55e00',
  '#b8a800',
  '#888888',
];
const SIZE = 8;

function colourAt(index: number): string {
  return COLOURS[index % COLOURS.length] ?? '#888888';
}

/** Returns the fill of a series: its colour with its pattern. */
export function fillAt(index: number, context: CanvasRenderingContext2D): CanvasPattern | string {
  const tile = document.createElement('canvas');
  tile.width = tile.height = SIZE;
  const paint = tile.getContext('2d');
  if (!paint) return colourAt(index);
  paint.fillStyle = colourAt(index);
  paint.fillRect(0, 0, SIZE, SIZE);
  paint.fillStyle = paint.strokeStyle = 'rgb(255 255 255 / 65%)';
  paint.lineWidth = 1.5;
  drawPattern(index % COLOURS.length, paint);
  return context.createPattern(tile, 'repeat') ?? colourAt(index);
}

function drawPattern(index: number, paint: CanvasRenderingContext2D): void {
  const line = (...[fromX, fromY, toX, toY]: [number, number, number, number]) => {
    paint.beginPath();
    paint.moveTo(fromX, fromY);
    paint.lineTo(toX, toY);
    paint.stroke();
  };
  // Pattern 0 is only the colour.
  if (index === 1) line(-1, SIZE + 1, SIZE + 1, -1);
  if (index === 2) paint.fillRect(2, 2, 3, 3);
  if (index === 3) line(-1, -1, SIZE + 1, SIZE + 1);
  if (index === 4 || index === 6) line(0, SIZE / 2, SIZE, SIZE / 2);
  if (index === 5 || index === 6) line(SIZE / 2, 0, SIZE / 2, SIZE);
  if (index === 7) paint.fillRect(0, 0, 2, 2);
}

const HEIGHT = 280;

interface BarsProps {
  readonly days: readonly string[];
  readonly series: readonly ChartSeries[];
  readonly label: string;
  readonly format: (value: number) => string;
}

/** A chart of stacked bars, one bar for each day. The page also shows a table with the sums of each group. */
export function StackedBars({ days, series, label, format }: BarsProps) {
  const plan = useMemo(() => {
    const paths = uPlot.paths.bars?.({ size: [0.75, 64] });
    const points = { show: false };
    const bars = { stroke: 'transparent', width: 0, points, ...(paths && { paths }) };
    // For each day, each series is drawn as a bar from zero to the sum of this series and all earlier series. The
    // highest bar is drawn first. Each later bar covers the lower part of the bars that are already drawn.
    const stacked = sums(days, series)
      .map((values, index) => ({ values, index }))
      .toReversed();
    return (): ChartPlan => ({
      days,
      format,
      x: [-0.6, days.length - 0.4],
      y: (_, _min, max) => [0, max > 0 ? max * 1.05 : 1],
      series: stacked.map(({ values, index }) => ({
        values,
        look: { ...bars, fill: (chart) => fillAt(index, chart.ctx) },
      })),
    });
  }, [days, series, format]);
  return <Chart label={label} height={HEIGHT} plan={plan} />;
}

function sums(days: readonly string[], series: readonly ChartSeries[]): number[][] {
  let below = days.map(() => 0);
  return series.map(({ values }) => (below = below.map((sum, at) => sum + (values[at] ?? 0))));
}
