/** A chart of stacked bars, one bar for each day. The page also shows a table with the sums of each group. */
import { useMemo } from 'preact/hooks';
import uPlot from 'uplot';
import { Chart, dayAxes, type ChartColours } from './chart.tsx';
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
  const plan = useMemo(() => {
    const paths = uPlot.paths.bars?.({ size: [0.75, 64] });
    // For each day, each series is drawn as a bar from zero to the sum of this series and all earlier series. The
    // highest bar is drawn first. Each later bar covers the lower part of the bars that are already drawn.
    const stacked = sums(days, series)
      .map((values, index) => ({ values, index }))
      .toReversed();
    return (colours: ChartColours) => ({
      options: {
        legend: { show: false },
        cursor: { show: false },
        scales: {
          x: { time: false, range: [-0.6, days.length - 0.4] as uPlot.Range.MinMax },
          y: { range: rangeOf },
        },
        axes: dayAxes(colours, days, format),
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
      data: [days.map((_, at) => at), ...stacked.map(({ values }) => values)] as uPlot.AlignedData,
    });
  }, [days, series, format]);
  return <Chart label={label} height={HEIGHT} plan={plan} />;
}

function rangeOf(_: uPlot, _min: number, max: number): [number, number] {
  return [0, max > 0 ? max * 1.05 : 1];
}

function sums(days: readonly string[], series: readonly ChartSeries[]): number[][] {
  let below = days.map(() => 0);
  return series.map(({ values }) => (below = below.map((sum, at) => sum + (values[at] ?? 0))));
}
