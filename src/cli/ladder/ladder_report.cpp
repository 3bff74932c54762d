#include "cli/ladder/ladder_output.hpp"

#include <algorithm>

#include "cli/ladder/ladder_format.hpp"
#include "cli/plot/canvas.hpp"
#include "cli/plot/charts.hpp"
#include "cli/shared/numbers.hpp"

namespace tapline::cli {
namespace {

constexpr const char* kStyle =
    "body{margin:0 auto;max-width:60rem;padding:1rem;font:16px/1.5 system-ui,sans-serif;color:#111827;background:#fff}"
    "h1{font-size:1.6rem;margin:.5rem 0}h2{font-size:1.25rem;margin:2rem 0 .25rem}h3{font-size:1rem;margin:0 0 .5rem}"
    "p{margin:.4rem 0}.note{color:#374151;font-size:.9rem}.wrong{color:#b91c1c;font-weight:600}"
    ".wide{overflow-x:auto;margin:.5rem 0}table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}"
    "th,td{padding:.25rem .55rem;text-align:right;white-space:nowrap;border-bottom:1px solid #e5e7eb}"
    "th:nth-child(-n+2),td:nth-child(-n+2){text-align:left}th{border-bottom:2px solid #9ca3af}tr.copy td{color:#374151}"
    "tr.best td{font-weight:600}ul{padding-left:1.2rem;margin:.4rem 0}"
    "svg{display:block;width:100%;max-width:32rem;height:auto;margin:.5rem 0}"
    ".plots,.lessons{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:1rem}"
    "article{border:1px solid #d1d5db;border-radius:.5rem;padding:.8rem;min-width:0}"
    "dl{margin:0;font-size:.9rem}dt{font-weight:600;margin-top:.3rem}dd{margin:0;overflow-wrap:anywhere}"
    "nav a{margin-right:.8rem;white-space:nowrap}a{color:#1d4ed8}";

std::string tag(const char* name, const std::string& text, const char* style = nullptr) {
    const std::string attributes = style == nullptr ? "" : std::string(" class=\"") + style + "\"";
    return std::string("<") + name + attributes + ">" + escape_markup(text) + "</" + name + ">";
}

std::string cells(const char* name, const std::vector<std::string>& texts) {
    std::string html;
    for (const auto& text : texts) html += tag(name, text);
    return html;
}

bool ran(const LadderRow& row) { return row.failure.empty(); }

const LadderRow* fastest(const LadderTable& table) {
    const LadderRow* best = nullptr;
    for (const auto& row : table.rows) {
        if (ran(row) && (best == nullptr || row.time.median < best->time.median)) best = &row;
    }
    return best;
}

std::string table_html(const LadderTable& table) {
    const bool warm = table.copy.warm.has_value();
    std::vector<std::string> head = {"rung", "of", "time", "spread"};
    if (warm) head.emplace_back("warm L2");
    for (const char* title : {"times naive", "times previous", "GB/s", "of copy", "GFLOP/s", "error"}) head.emplace_back(title);
    const auto timing = [&](const Timing& time, const std::optional<Timing>& second) {
        std::vector<std::string> texts = {format_seconds(time.median),
                                          format_seconds(time.least) + " to " + format_seconds(time.most)};
        if (warm) texts.push_back(second ? format_seconds(second->median) : "");
        return texts;
    };
    std::string html = "<div class=\"wide\"><table><thead><tr>" + cells("th", head) + "</tr></thead><tbody>";
    for (const auto& row : table.rows) {
        html += &row == fastest(table) ? "<tr class=\"best\">" : "<tr>";
        html += cells("td", {row.lesson.label(), row.lesson.origin});
        if (ran(row)) {
            html += cells("td", timing(row.time, row.warm));
            html += cells("td", compared(row));
        } else {
            html += tag("td", row.verdict, "wrong");
        }
        html += "</tr>";
    }
    html += "<tr class=\"copy\">" + cells("td", {copy_label(table), ""}) + cells("td", timing(table.copy.time, table.copy.warm)) +
            cells("td", {"", "", format_giga(table.copy.bytes_per_second), "100%", "", ""}) + "</tr></tbody></table></div>\n";
    return html;
}

std::string notes_html(const LadderTable& table) {
    std::string html;
    for (const auto& row : table.rows) {
        if (!ran(row)) html += tag("p", std::string(row.verdict) + ": " + row.lesson.label() + ": " + row.failure, "wrong");
        if (ran(row) && row.kind == RowKind::autotuned) html += tag("p", "autotuned is " + row.detail, "note");
        if (ran(row) && row.kind == RowKind::peer) html += tag("p", row.lesson.label() + " is " + row.detail, "note");
    }
    if (!table.skipped.empty()) {
        html += "<p class=\"note\">Not here:</p><ul class=\"note\">";
        for (const auto& group : group_skipped(table.skipped)) html += tag("li", group.labels + ": " + group.reason);
        html += "</ul>";
    }
    return html;
}

std::string times_plot(const LadderTable& table) {
    std::vector<Bar> bars;
    const LadderRow* best = fastest(table);
    for (const auto& row : table.rows) {
        if (!ran(row)) continue;
        const std::string origin =
            row.lesson.origin.empty() || row.lesson.origin == row.lesson.number ? "" : " (" + row.lesson.origin + ")";
        bars.push_back({row.lesson.label() + origin, row.time.median, format_seconds(row.time.median), &row == best});
    }
    if (bars.empty()) return {};
    return bars_svg("Case " + table.contest.key + ": time over rungs, logarithmic", bars, table.copy.time.median,
                    copy_label(table) + ": " + format_seconds(table.copy.time.median));
}

std::string anchor_of(const LadderTable& table) { return "case-" + escape_markup(table.contest.key); }

std::string section_html(const LadderTable& table) {
    std::string html = "<section id=\"" + anchor_of(table) + "\">";
    html += tag("h2", table.contest.key + ": " + table.contest.title);
    html += tag("p", format_problem(table.contest), "note");
    html += table_html(table) + times_plot(table) + notes_html(table) + "</section>\n";
    return html;
}

std::string sweep_html(const Sweep& sweep) {
    std::vector<Curve> rates;
    std::vector<Curve> shares;
    for (const auto& line : sweep.lines) {
        Curve rate{.label = line.lesson.label(), .points = {}};
        Curve share = rate;
        for (const auto& point : line.points) {
            rate.points.emplace_back(static_cast<double>(point.length), point.bytes_per_second * 1e-9);
            share.points.emplace_back(static_cast<double>(point.length), point.copy_fraction);
        }
        rates.push_back(std::move(rate));
        shares.push_back(std::move(share));
    }
    Curve copy{.label = "copy", .points = {}, .dashed = true};
    Curve whole = copy;
    for (const auto& point : sweep.copy) {
        copy.points.emplace_back(static_cast<double>(point.length), point.bytes_per_second * 1e-9);
        whole.points.emplace_back(static_cast<double>(point.length), 1);
    }
    rates.push_back(std::move(copy));
    shares.push_back(std::move(whole));
    std::string what = "k = " + format_count(sweep.problem.taps) + ", mode " + to_string(sweep.problem.mode);
    if (sweep.problem.clamp) what += ", clamped";
    std::string failures;
    for (const auto& failure : sweep.failures) failures += tag("p", failure, "wrong");
    return "<section id=\"lengths\">" + failures + tag("h2", "Over lengths") + tag("p", what, "note") +
           "<div class=\"plots\"><div>" + tag("h3", "Bandwidth, GB/s") +
           curves_svg("Bandwidth over lengths", "samples of the signal", rates, false) + "</div><div>" +
           tag("h3", "Share of the copy's speed") +
           curves_svg("Share of the copy's speed over lengths", "samples of the signal", shares, true) + "</div></div></section>\n";
}

std::string lesson_html(const LadderRun& run, const Lesson& lesson) {
    std::string html = "<article>";
    html += tag("h3", lesson.label() + (lesson.origin.empty() ? "" : " (" + lesson.origin + ")"));
    html += "<dl>";
    const auto entry = [&](const char* name, const std::string& text) {
        if (!text.empty()) html += tag("dt", name) + tag("dd", text);
    };
    entry("Idea", lesson.idea);
    entry("Changed", lesson.changed);
    entry("Requires", lesson.requirements);
    entry("Limited by", lesson.limited_by);
    entry("Source", lesson.source);
    html += "</dl>";
    std::vector<Bar> bars;
    for (const auto& table : run.tables) {
        for (const auto& row : table.rows) {
            if (!ran(row) || row.lesson.label() != lesson.label()) continue;
            bars.push_back({"case " + table.contest.key, 1 / row.copy_fraction,
                            format_times(1 / row.copy_fraction) + " the copy's time", false});
        }
    }
    if (!bars.empty()) html += bars_svg(lesson.label() + ": time in units of the copy's, logarithmic", bars, 1, "copy: 1x");
    return html + "</article>\n";
}

}  // namespace

std::string ladder_report(const LadderRun& run) {
    std::string facts = run.device.name + ", " + run.device.description;
    for (const auto& [name, value] : run.device.facts) facts.append(", ").append(name).append(" ").append(value);
    std::string html =
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">";
    html += tag("title", "The ladder on " + run.device.description) + "<style>" + kStyle + "</style></head>\n<body>";
    html += tag("h1", "The ladder on " + run.device.description);
    html += tag("p", facts + ". tapline " + run.version + ", " + run.date + " UTC.");
    html += tag(
        "p",
        "Every rung was checked against the textbook sum before it was timed. Times are medians, on a GPU with a cold L2 cache; "
        "the copy was measured in the same run, and its share is the copy's time divided by the rung's. GB/s count signal, taps "
        "and output once; GFLOP/s the textbook sum's operations; the error is relative (L2).",
        "note");
    html += "<nav>";
    for (const auto& table : run.tables)
        html += "<a href=\"#" + anchor_of(table) + "\">" + escape_markup(table.contest.key) + "</a>";
    if (run.sweep) html += "<a href=\"#lengths\">lengths</a>";
    html += "<a href=\"#lessons\">lessons</a></nav>\n";
    for (const auto& table : run.tables) html += section_html(table);
    if (run.sweep && !run.sweep->copy.empty()) html += sweep_html(*run.sweep);
    html += "<section id=\"lessons\">" + tag("h2", "The lesson of each rung") + "<div class=\"lessons\">\n";
    for (const auto& lesson : lessons_of(run)) html += lesson_html(run, lesson);
    return html + "</div></section></body></html>\n";
}

}  // namespace tapline::cli
