# Writes r_dsl.csv and r_dsl.json: what R's dsl 0.1.0 (github.com/naoki-egami/dsl) gives of a small data set.
#
# Run by hand, with the package's sources beside R and its package Matrix; the project depends on neither:
#
#     Rscript tests/correction/r_dsl.R PATH/TO/dsl
#
# The package's own dsl() is run as it is but for three things: the random forest that predicts the outcome
# hands over a given prediction, so that nothing is left to chance; optim() goes on to the last digit (it stops
# at about the fourth otherwise); and matrixcalc's check of a matrix is written here, to need one package less.
library(Matrix)

folder <- commandArgs(trailingOnly = TRUE)[1]
for (file in c("dsl.R", "estimate_g.R", "helper_dsl_general.R", "helper_moment.R"))
  source(file.path(folder, "R", file))

is.positive.definite <- function(x) all(eigen(x, symmetric = TRUE)$values > 0)
fit_model <- function(...) NULL
fit_test <- function(fit_out, outcome, labeled, covariates, data, ...) list(Y_hat = data[, covariates[1]], RMSE = NA)
optim <- function(par, fn, ..., method, hessian, control) {
  # The moments are solved where their sum of squares is 0: Newton's steps on them, from where optim() ends.
  found <- stats::optim(par, fn, ..., method = method, hessian = hessian, control = control)
  given <- list(...)
  moment <- function(b) {
    base <- if (given$model == "lm") lm_dsl_moment_base else logit_dsl_moment_base
    colMeans(base(b, given$labeled_ind, given$sample_prob_use, given$Y_orig, given$X_orig, given$Y_pred, given$X_pred))
  }
  slope <- if (given$model == "lm") lm_dsl_Jacobian else logit_dsl_Jacobian
  for (step in 1:20) {
    bend <- slope(found$par, given$labeled_ind, given$sample_prob_use, given$Y_orig, given$X_orig, given$Y_pred,
                  given$X_pred, given$model)
    found$par <- found$par + as.numeric(solve(bend, moment(found$par)))
  }
  found
}
# logit_dsl_Jacobian() takes no model
logit_of <- logit_dsl_Jacobian
logit_dsl_Jacobian <- function(par, labeled_ind, sample_prob_use, Y_orig, X_orig, Y_pred, X_pred, ...)
  logit_of(par, labeled_ind, sample_prob_use, Y_orig, X_orig, Y_pred, X_pred)

set.seed(20261122)
size <- 240
drawn <- 80
x <- round(rnorm(size), 3)
z <- rbinom(size, 1, 0.4)
group <- sample(rep(1:30, length.out = size))
y <- rbinom(size, 1, plogis(-0.4 + 0.7 * x - 0.5 * z + rep(rnorm(30) / 2, length.out = size)[group]))
wrong <- runif(size) < 0.15 + 0.1 * (x > 0)
label <- ifelse(wrong, 1 - y, y)
f <- round(ifelse(label == 1, 0.8, 0.15) + 0.05 * tanh(x), 3)
worth <- 0.3 + runif(size) + label
probability <- round(drawn * worth / sum(worth), 6)
probability[size] <- drawn - sum(probability[-size])
simple <- sample(size, drawn)
unequal <- sample(size, drawn, prob = probability)

table <- data.frame(x, z, group, f, probability,
                    simple = ifelse(seq_len(size) %in% simple, y, NA),
                    unequal = ifelse(seq_len(size) %in% unequal, y, NA))
folder <- "tests/correction"
write.csv(table, file.path(folder, "r_dsl.csv"), row.names = FALSE, na = "", quote = FALSE)
lines <- c()
for (draw in c("simple", "unequal")) for (model in c("mean", "lm", "logit")) for (clusters in c(FALSE, TRUE)) {
  right <- if (model == "mean") "~ 1" else "~ x + z"
  made <- dsl(model = sub("mean", "lm", model), formula = as.formula(paste(draw, right)), predicted_var = draw, prediction = "f",
              data = table, cluster = if (clusters) "group" else NULL,
              sample_prob = if (draw == "unequal") "probability" else NULL, sample_split = 1)
  lines <- c(lines, sprintf('  "%s %s%s": [[%s], [%s]]', draw, model, if (clusters) " groups" else "",
                            paste(sprintf("%.12g", made$coefficients), collapse = ", "),
                            paste(sprintf("%.12g", made$standard_errors), collapse = ", ")))
}
head <- sprintf(' "made by": "dsl 0.1.0, %s",', R.version.string)
writeLines(c("{", head, ' "found": {', paste(lines, collapse = ",\n"), " }", "}"), file.path(folder, "r_dsl.json"))
